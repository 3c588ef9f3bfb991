import {
  type CheckName,
  type CorpusReport,
  checkNames,
  formNames,
  type MergeTally,
  mergeNames,
  type SourceReport,
  type Tally,
  type Timing,
  wrongIn,
} from './report.ts';

/** Files that cannot be read, shown of each source. */
const mostUnparsable = 20;

/** The report for people: a section for each source and, of several, the total. */
export function textOf({ seed, sources, total, fixtures }: CorpusReport): string {
  const sections = sources.length > 1 ? [...sources, total] : sources;
  const wrong = wrongIn(total);
  const verdict = wrong === 0 ? 'Nothing is wrong.' : `${wrong} wrong; to see them again: ${fixtures}`;
  return `${sections.map(sectionOf).join('\n')}\n${verdict} Seed: ${seed}\n`;
}

function sectionOf(report: SourceReport): string {
  const { source, commit, files, repeated, skipped, formats, unparsable, crlf } = report;
  const lines = [
    `${source}${commit === null ? '' : ` (${commit.slice(0, 10)})`}`,
    `  files          ${files}${repeated > 0 ? `, and ${repeated} that an earlier branch has alike` : ''}`,
    `  frontmatter    ${counts(formats)}`,
    `  skipped        ${counts(skipped)}`,
    ...unparsable
      .slice(0, mostUnparsable)
      .map(({ path, line, column, reason }) => `  unparsable     ${path}:${line}:${column} ${reason}`),
    ...(unparsable.length > mostUnparsable ? [`                 and ${unparsable.length - mostUnparsable} more`] : []),
    `  CRLF           ${crlf.stayed} of ${crlf.files} stay CRLF through every edit`,
    ...formNames.flatMap((form) => tableOf(form, report.checks[form])),
    ...mergeNames.flatMap((name) => mergeLine(name, report.merges[name])),
    ...schemaLines(report),
    ...routeLines(report),
    `  milliseconds   ${Object.entries(report.times).map(timeText).join(', ')} (mean)`,
    ...report.reproductions.map((directory) => `  wrong          ${directory}`),
  ];
  return `${lines.join('\n')}\n`;
}

const counts = (numbers: object) =>
  Object.entries(numbers)
    .filter(([, number]) => number > 0)
    .map(([name, number]) => `${number} ${name}`)
    .join(', ') || 'none';

const cells = (...texts: (string | number)[]) => texts.map((text) => String(text).padStart(8)).join('');

function tableOf(form: string, checks: Partial<Record<CheckName, Tally>>): string[] {
  const rows = checkNames.flatMap((name) => (checks[name] === undefined ? [] : [[name, checks[name]] as const]));
  if (rows.length === 0) return [];
  const head = `  ${form.padEnd(20)}${cells('exact', 'refused', 'wrong')}`;
  return [
    head,
    ...rows.flatMap(([name, { exact, refused, wrong, refusals, faults }]) => [
      `    ${name.padEnd(18)}${cells(exact, refused, wrong)}`,
      ...reasonLines(refusals),
      ...reasonLines(faults),
    ]),
  ];
}

function mergeLine(name: string, tally: MergeTally): string[] {
  const { merged, conflicts, wrong, not_tried, git_conflicts, reasons } = tally;
  const tried = merged + conflicts + wrong;
  if (tried + not_tried === 0) return [];
  const left = not_tried > 0 ? `, ${not_tried} not tried` : '';
  const text = `${merged} of ${tried} merged, ${conflicts} conflicts, ${wrong} wrong${left}; git: ${git_conflicts} conflicts`;
  return [`  ${name.padEnd(15)}${text}`, ...reasonLines(reasons)];
}

const reasonLines = (reasons: Record<string, number>) =>
  Object.entries(reasons).map(([reason, count]) => `      ${count} × ${reason}`);

function schemaLines({ kind, schema }: SourceReport): string[] {
  const { collections, warnings } = schema;
  const sum = (of: 'fields' | 'entries' | 'valid') => collections.reduce((total, one) => total + one[of], 0);
  const whole = `${collections.length} collections, ${sum('fields')} fields, ${sum('valid')} of ${sum('entries')} entries valid, ${warnings} warnings`;
  if (kind === 'total') return [`  schema         ${whole}`];
  const each = collections.map(
    ({ collection, source, inferred, fields, entries, valid }) =>
      `    ${collection}: ${source}${inferred ? ', inferred' : ''}, ${fields} fields, ${valid} of ${entries} entries valid`,
  );
  return [`  schema         ${whole}`, ...each];
}

/** Where the pages would be; the total only counts. */
function routeLines({ kind, routes }: SourceReport): string[] {
  const { framework, root, base, predicted, no_page, collisions, samples, warnings } = routes;
  const where = `${framework ?? 'no framework'}${root && ` in ${root}`}${base && ` below ${base}`}`;
  const numbers = `${predicted} pages predicted, ${no_page} files are no page, ${collisions} collisions, ${warnings} warnings`;
  if (kind === 'total') return [`  routes         ${numbers}`];
  return [`  routes         ${where}: ${numbers}`, ...samples.map(({ path, url }) => `    ${path} → ${url}`)];
}

const timeText = ([name, { count, milliseconds }]: [string, Timing]) =>
  `${name} ${count === 0 ? '–' : (milliseconds / count).toFixed(3)}`;
