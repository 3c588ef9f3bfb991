import { isCollection, isMap, isScalar } from 'yaml';
import { parsePointer, pointerTo, valueAt } from '../../../../lib/json-pointer.ts';
import { readJson } from '../json.ts';
import { type DateRule, deepEqual, type Frontmatter, type Read, type Reading } from '../values.ts';
import { editNode } from './edit-node.ts';
import { aliasedAnchors, applySplices, type Editing, refuse, type Splice, styleOf } from './editing.ts';
import { mapText } from './emit.ts';
import { type Entry, entriesOf } from './layout.ts';
import { readYamlBlock } from './read-block.ts';
import { parseYaml, readYamlDocument, type YamlDocument } from './read-yaml.ts';

export interface SourceEdit {
  eol: '\n' | '\r\n';
  isDate: DateRule;
  json?: boolean;
}

/**
 * Source text of a YAML (or JSON) block that reads as `wanted`, changed only where it differs, and how it reads. Each attempt is parsed again
 * and compared; when the smallest splices do not read back as wanted, the values around them are written anew, level by level.
 *
 * @throws DomainError `not_editable`, naming the key and the reason.
 */
export function editYamlSource(
  text: string,
  wanted: Frontmatter,
  options: SourceEdit,
): { source: string; reading: Read } {
  const { eol } = options;
  const ended = text === '' || text.endsWith('\n');
  const source = ended ? text : text + eol;
  const document = parseYaml(source, true);
  const reading = readYamlDocument(document);
  if (!reading.ok) return refuse('', reading.message);
  const before: Known = { source, document, value: reading.value, lossy: reading.lossy };
  let coarse = new Set<string>();
  for (;;) {
    const attempt = splice(before, wanted, options, coarse);
    const { text: result, splices } = attempt;
    if (result !== undefined) {
      // The line end that was missing stays missing, unless a block scalar counts it in.
      const forms = ended ? [result] : [result.replace(/\r?\n$/, ''), result];
      for (const form of forms) {
        const reading = readForm(form, options);
        if (reading.ok && readsBack(before, form, reading, splices, wanted)) return { source: form, reading };
      }
    }
    const wider = new Set([...attempt.touched].map((pointer) => (coarse.has(pointer) ? parentOf(pointer) : pointer)));
    if ([...wider].every((pointer) => coarse.has(pointer))) {
      refuse([...attempt.touched][0] ?? '', `the change would not read back as wanted${faultOf(result, options)}`);
    }
    coarse = wider;
  }
}

interface Known {
  source: string;
  document: YamlDocument;
  value: Frontmatter;
  lossy: string[];
}

function splice({ source, document, value }: Known, wanted: Frontmatter, options: SourceEdit, coarse: Set<string>) {
  const manner = styleOf(document, source, options);
  const edit: Editing = {
    source,
    splices: [],
    manner,
    aliased: aliasedAnchors(document),
    json: options.json ? { step: jsonStep(source) } : undefined,
    coarse,
    editNode,
    touched: new Set(),
  };
  const root = document.contents;
  if (isCollection(root)) {
    const [start = 0, end = 0] = root.range ?? [];
    editNode(edit, { role: 'root', entry: { start, valueAt: start, end, node: root } }, value, wanted, '');
  } else if (isScalar(root) && root.source) {
    refuse('', 'the frontmatter is a single value');
  } else {
    const at = source.length;
    edit.touched.add('');
    edit.splices.push({ start: at, end: at, text: mapText(wanted, 0, '', manner) + manner.eol });
  }
  return { text: applySplices(source, edit.splices), touched: edit.touched, splices: edit.splices };
}

function readForm(text: string, { json }: SourceEdit): Reading {
  return json ? readJson(text) : readYamlBlock(text);
}

/** What stops an attempt from being read, such as an alias whose anchor is gone. */
function faultOf(text: string | undefined, options: SourceEdit): string {
  const reading = text === undefined ? undefined : readForm(text, options);
  return reading === undefined || reading.ok ? '' : `: ${reading.message}`;
}

/** The wanted values, the same numbers beyond JavaScript's, and every top-level pair that was not to change byte for byte. */
function readsBack(
  before: Known,
  text: string,
  reading: Read,
  splices: readonly Splice[],
  wanted: Frontmatter,
): boolean {
  if (!deepEqual(reading.value, wanted)) return false;
  const lossy = new Set(reading.lossy);
  const lost = before.lossy.some((pointer) => !lossy.has(pointer) && sameAt(before.value, wanted, pointer));
  if (lost || !isMap(before.document.contents)) return !lost;
  const kept = entriesOf(before.document.contents, before.source).filter(
    (entry) => Object.hasOwn(wanted, nameOf(entry)) && deepEqual(before.value[nameOf(entry)], wanted[nameOf(entry)]),
  );
  if (areUntouched(kept, splices)) return true;
  const after = parseYaml(text, true).contents;
  const pairs = isMap(after) ? entriesOf(after, text) : [];
  const texts = new Map(pairs.map((entry) => [nameOf(entry), text.slice(entry.start, entry.end)]));
  return kept.every((entry) => texts.get(nameOf(entry)) === before.source.slice(entry.start, entry.end));
}

/** Whether no splice reaches into any of the entries, which stand in order. */
function areUntouched(entries: readonly Entry[], splices: readonly Splice[]): boolean {
  const ordered = [...splices].sort((a, b) => a.start - b.start || a.end - b.end);
  let at = 0;
  return entries.every(({ start, end }) => {
    while (at < ordered.length && (ordered[at] as Splice).end <= start) at++;
    return at === ordered.length || (ordered[at] as Splice).start >= end;
  });
}

const nameOf = ({ key }: Entry): string => (isScalar(key) ? String(key.value) : '');

const sameAt = (left: unknown, right: unknown, pointer: string): boolean =>
  valueAt(left, pointer) === valueAt(right, pointer);

function parentOf(pointer: string): string {
  const names = parsePointer(pointer) ?? [];
  return names.length < 2 ? pointer : names.slice(0, -1).reduce(pointerTo, '');
}

/** Indentation of a level: that of the first line that has any; none when all stands on one line. */
function jsonStep(source: string): string {
  return /\n([ \t]+)\S/.exec(source)?.[1] ?? '';
}
