import type { KubeObject, KubeSelection } from '#ports';

/** Whether an object is inside a selection, by the API server's selector grammar. */
export function isSelected(object: KubeObject, selection: KubeSelection): boolean {
  if (selection.namespace !== undefined && object.metadata.namespace !== selection.namespace) return false;
  const labels = object.metadata.labels ?? {};
  const byLabels = splitTerms(selection.labelSelector ?? '').every((term) => matchesLabelTerm(labels, term));
  return byLabels && splitTerms(selection.fieldSelector ?? '').every((term) => matchesFieldTerm(object, term));
}

// Commas inside `in (a,b)` do not separate terms.
const splitTerms = (text: string): string[] => text.split(/,(?![^(]*\))/).map((term) => term.trim()).filter((term) => term !== '');

function matchesLabelTerm(labels: Readonly<Record<string, string>>, term: string): boolean {
  const set = /^(\S+)\s+(in|notin)\s+\(([^)]*)\)$/.exec(term);
  if (set !== null) {
    const has = (set[3] ?? '').split(',').map((value) => value.trim()).includes(labels[set[1] ?? ''] ?? '\0');
    return set[2] === 'in' ? has : !has;
  }
  const equality = /^([^=!]+)\s*(==|=|!=)\s*(.*)$/.exec(term);
  if (equality !== null) {
    const isEqual = labels[(equality[1] ?? '').trim()] === (equality[3] ?? '').trim();
    return equality[2] === '!=' ? !isEqual : isEqual;
  }
  return term.startsWith('!') ? labels[term.slice(1)] === undefined : labels[term] !== undefined;
}

function matchesFieldTerm(object: KubeObject, term: string): boolean {
  const [, path = '', operator = '=', want = ''] = /^([^=!]+)(==|=|!=)(.*)$/.exec(term) ?? [];
  const got = path.split('.').reduce<unknown>((value, field) => (value as Record<string, unknown> | undefined)?.[field], object);
  const isEqual = (typeof got === 'string' ? got : '') === want;
  return operator === '!=' ? !isEqual : isEqual;
}
