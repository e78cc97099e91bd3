import { describe, expect, it } from '@jest/globals';

import { clusterId, type Freshness } from '#domain/fleet';

import { DEFAULT_JUDGE_LIMITS, judgeMembers, type JudgeOutcome, type JudgeState } from './index.js';

const TICK_MS = 1_000;

/** A fleet whose members talk or are silent, judged every second. */
class Fleet {
  nowMs = 1_700_000_000_000;
  isHubListening = true;
  freeze: { readonly reason: string } | undefined;
  readonly freshness = new Map<string, Freshness>();
  readonly events: string[] = [];
  readonly #talking: Set<string>;
  readonly #lastReportAtMs = new Map<string, number>();
  #state: JudgeState | undefined;
  constructor(names: readonly string[]) {
    this.#talking = new Set(names);
    for (const name of names) this.freshness.set(name, 'fresh');
  }
  silence(...names: string[]): this {
    for (const name of names) this.#talking.delete(name);
    return this;
  }
  talk(...names: string[]): this {
    for (const name of names) this.#talking.add(name);
    return this;
  }
  newJudge(): this {
    this.#state = undefined;
    return this;
  }
  run(seconds: number): this {
    for (let second = 0; second < seconds; second += 1) {
      this.nowMs += TICK_MS;
      if (this.isHubListening) for (const name of this.#talking) this.#lastReportAtMs.set(name, this.nowMs);
      this.#take(this.#judge(), second + 1);
    }
    return this;
  }
  /** Time in which nobody judges and nobody listens. */
  sleep(seconds: number): this {
    this.nowMs += seconds * 1_000;
    return this;
  }
  #judge(): JudgeOutcome {
    const members = [...this.freshness].map(([name, freshness]) => ({ clusterId: clusterId(name), freshness, lastReportAtMs: this.#lastReportAtMs.get(name) }));
    return judgeMembers(this.#state, { nowMs: this.nowMs, isHubListening: this.isHubListening, members, freeze: this.freeze, limits: DEFAULT_JUDGE_LIMITS });
  }
  #take(outcome: JudgeOutcome, second: number): void {
    this.#state = outcome.state;
    if (outcome.automation.kind === 'freeze') this.freeze = { reason: outcome.automation.reason };
    if (outcome.automation.kind === 'resume') this.freeze = undefined;
    if (outcome.automation.kind !== 'stay') this.events.push(`${outcome.automation.kind} at ${second}`);
    for (const judged of outcome.judgements) {
      this.freshness.set(judged.clusterId, judged.freshness);
      this.events.push(`${judged.clusterId} ${judged.freshness} at ${second}`);
    }
  }
}

describe('staleness', () => {
  it('a silent member is stale after five minutes of listening, once', () => {
    expect(new Fleet(['a', 'b']).run(60).silence('a').run(400).events).toEqual(['a stale at 300']);
  });
  it('a member that never reports is stale after five minutes of listening too: nobody waits for its first list for ever', () => {
    const fleet = new Fleet(['a']);
    fleet.freshness.set('new', 'joining');
    fleet.silence('new').run(1_000);
    expect(fleet.events).toEqual(['new stale at 301']);
  });
  it('time without a judge does not count', () => {
    expect(new Fleet(['a', 'b']).run(60).silence('a').run(200).sleep(3_600).run(99).events).toEqual([]);
  });
  it('time without a hub does not count', () => {
    const fleet = new Fleet(['a', 'b']).run(60);
    fleet.isHubListening = false;
    fleet.run(3_600);
    fleet.isHubListening = true;
    expect(fleet.run(100).events).toEqual([]);
  });
  it('a new judge starts counting anew', () => {
    expect(new Fleet(['a', 'b']).run(60).silence('a').run(200).newJudge().run(299).events).toEqual([]);
    expect(new Fleet(['a', 'b']).run(60).silence('a').run(200).newJudge().run(301).events).toEqual(['a stale at 301']);
  });
});

describe('the automatic freeze', () => {
  it('three of five that go silent together freeze automation, and nobody is judged stale meanwhile', () => {
    const fleet = new Fleet(['a', 'b', 'c', 'd', 'e']).run(60).silence('a', 'b', 'c').run(600);
    expect(fleet.events).toEqual(['freeze at 11']);
    expect(fleet.freeze?.reason).toBe("automatic: 3 of 5 members went silent within 30 s, so the fault may be the hub's own");
  });
  it('two of three do not: members may fail on their own', () => {
    expect(new Fleet(['a', 'b', 'c']).run(60).silence('a', 'b').run(200).events).toEqual([]);
  });
  it('three of six do not: half is not more than half', () => {
    expect(new Fleet(['a', 'b', 'c', 'd', 'e', 'f']).run(60).silence('a', 'b', 'c').run(200).events).toEqual([]);
  });
  it('three of five that go one after another, a minute apart, do not', () => {
    expect(new Fleet(['a', 'b', 'c', 'd', 'e']).run(60).silence('a').run(60).silence('b').run(60).silence('c').run(60).events).toEqual([]);
  });
  it('ends when at most half have been silent for 30 s', () => {
    expect(new Fleet(['a', 'b', 'c', 'd']).run(60).silence('a', 'b', 'c').run(60).talk('a').run(40).events).toEqual(['freeze at 11', 'resume at 31']);
  });
  it('after it ended, those still silent become stale', () => {
    expect(new Fleet(['a', 'b', 'c', 'd']).run(60).silence('a', 'b', 'c').run(60).talk('a').run(300).events).toEqual(['freeze at 11', 'resume at 31', 'b stale at 240', 'c stale at 240']);
  });
  it('a freeze by an operator is not ended, and members still become stale', () => {
    const fleet = new Fleet(['a', 'b', 'c']).run(60);
    fleet.freeze = { reason: 'maintenance' };
    expect(fleet.silence('a').run(400).events).toEqual(['a stale at 300']);
    expect(fleet.freeze).toEqual({ reason: 'maintenance' });
  });
  it('an operator who resumes is obeyed: the same silence does not freeze again', () => {
    const fleet = new Fleet(['a', 'b', 'c', 'd']).run(60).silence('a', 'b', 'c').run(60);
    fleet.freeze = undefined;
    expect(fleet.run(60).events).toEqual(['freeze at 11']);
  });
  it('an old silence found by a new judge does not freeze', () => {
    expect(new Fleet(['a', 'b', 'c', 'd']).silence('a', 'b', 'c').run(100).events).toEqual([]);
  });
});
