import Table from 'cli-table3';
import { stringify } from 'yaml';

import type { Terminal } from './terminal.js';

/** The output forms that every listing command takes with `-o`. */
export const OUTPUT_FORMATS = ['table', 'json', 'yaml'] as const;

/** One of {@link OUTPUT_FORMATS}. */
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** A column of a table: its heading and the cell of a row. */
export interface Column<Row> {
  readonly heading: string;
  readonly cell: (row: Row) => string;
}

/** Writes rows in the asked form. JSON and YAML carry the rows whole; the table shows the columns. */
export function printRows<Row>(terminal: Terminal, format: OutputFormat, rows: readonly Row[], columns: readonly Column<Row>[]): void {
  if (format !== 'table') {
    printValue(terminal, format, rows);
    return;
  }
  if (rows.length === 0) {
    terminal.err('nothing to show');
    return;
  }
  terminal.out(renderTable(rows, columns));
}

/** Writes one value as JSON or YAML; `table` writes YAML, which reads well for a single object. */
export function printValue(terminal: Terminal, format: OutputFormat, value: unknown): void {
  terminal.out(format === 'json' ? JSON.stringify(value, null, 2) : stringify(value).trimEnd());
}

// kubectl's look: columns by spaces, no frame, so that cut and awk work.
const BORDERLESS = Object.fromEntries(
  ['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right', 'left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid'].map((key) => [key, '']),
);

function renderTable<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const table = new Table({
    head: columns.map((column) => column.heading),
    chars: { ...BORDERLESS, middle: '  ' },
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
  });
  for (const row of rows) table.push(columns.map((column) => column.cell(row)));
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

/** An age such as `3s`, `5m`, `2h`, `4d`, or `never`: freshness beside every number. */
export function formatAge(atMs: number | undefined, nowMs: number): string {
  if (atMs === undefined) return 'never';
  const seconds = Math.max(0, Math.round((nowMs - atMs) / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86_400)}d`;
}
