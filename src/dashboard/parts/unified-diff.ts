/** Reads the unified diff of one file, as git writes it (POSIX `diff -u`, "Diff Unified Output Format"). */

export interface DiffLine {
  kind: 'same' | 'added' | 'removed';
  /** Numbers of the line in the file before and after, from 1; null on the side that lacks it. */
  before: number | null;
  after: number | null;
  text: string;
  /** It is the last of its side, and does not end in a line feed. */
  isUnended: boolean;
}

export interface Hunk {
  /** What git found to stand above: a heading, or the name of a function. */
  heading: string;
  lines: DiffLine[];
}

const hunkHeader = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)$/;
const kinds: Record<string, DiffLine['kind']> = { ' ': 'same', '+': 'added', '-': 'removed' };

/** The hunks of a patch; what stands above the first one is left out. */
export function readPatch(patch: string): Hunk[] {
  const hunks: Hunk[] = [];
  let [before, after] = [0, 0];
  for (const line of patch.replace(/\n$/, '').split('\n')) {
    const header = hunkHeader.exec(line);
    const hunk = hunks.at(-1);
    if (header) {
      [before, after] = [Number(header[1]), Number(header[2])];
      hunks.push({ heading: header[3] ?? '', lines: [] });
      continue;
    }
    const last = hunk?.lines.at(-1);
    if (line.startsWith('\\') && last) last.isUnended = true;
    const kind = kinds[line.charAt(0)];
    if (!hunk || !kind) continue;
    hunk.lines.push({
      kind,
      before: kind === 'added' ? null : before++,
      after: kind === 'removed' ? null : after++,
      text: line.slice(1),
      isUnended: false,
    });
  }
  return hunks;
}

/** Lines that stand beside each other; null where a side has none. */
export type Pair = readonly [before: DiffLine | null, after: DiffLine | null];

/** The lines of a hunk in two columns: what was removed beside what came in its place. */
export function pairLines(lines: readonly DiffLine[]): Pair[] {
  const pairs: Pair[] = [];
  let removed: DiffLine[] = [];
  let added: DiffLine[] = [];
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++)
      pairs.push([removed[at] ?? null, added[at] ?? null]);
    [removed, added] = [[], []];
  };
  for (const line of lines) {
    if (line.kind === 'removed' && added.length > 0) flush();
    if (line.kind === 'removed') removed.push(line);
    else if (line.kind === 'added') added.push(line);
    else {
      flush();
      pairs.push([line, line]);
    }
  }
  flush();
  return pairs;
}

/** What two lines share at their beginning and end, in UTF-16 units; no character is divided. */
export function sharedEnds(one: string, other: string): { start: number; end: number } {
  const [a, b] = [Array.from(one), Array.from(other)];
  const most = Math.min(a.length, b.length);
  let [head, tail] = [0, 0];
  while (head < most && a[head] === b[head]) head++;
  while (tail < most - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  return { start: a.slice(0, head).join('').length, end: a.slice(a.length - tail).join('').length };
}
