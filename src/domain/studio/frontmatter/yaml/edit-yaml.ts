import { isCollection, isMap, isScalar, type YAMLMap } from 'yaml';
import { parsePointer, pointerTo } from '../../../../lib/json-pointer.ts';
import { type DateRule, deepEqual, type Frontmatter } from '../values.ts';
import { editNode } from './edit-node.ts';
import { aliasedAnchors, applySplices, type Editing, refuse, styleOf } from './editing.ts';
import { mapText } from './emit.ts';
import { type Entry, entriesOf } from './layout.ts';
import { parseYaml, readYamlDocument, type YamlDocument } from './read-yaml.ts';

export interface SourceEdit {
  eol: '\n' | '\r\n';
  isDate: DateRule;
  json?: boolean;
}

/**
 * Source text of a YAML (or JSON) block that reads as `wanted`, changed only where it differs. Each attempt is parsed again
 * and compared; when the smallest splices do not read back as wanted, the values around them are written anew, level by level.
 *
 * @throws DomainError `not_editable`, naming the key and the reason.
 */
export function editYamlSource(text: string, wanted: Frontmatter, options: SourceEdit): string {
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
    if (attempt.text !== undefined && readsBack(before, attempt.text, wanted)) {
      const bare = attempt.text.replace(/\r?\n$/, '');
      // The line end that was missing stays missing, unless a block scalar counts it in.
      return !ended && readsBack(before, bare, wanted) ? bare : attempt.text;
    }
    const wider = new Set([...attempt.touched].map((pointer) => (coarse.has(pointer) ? parentOf(pointer) : pointer)));
    if ([...wider].every((pointer) => coarse.has(pointer))) {
      refuse([...attempt.touched][0] ?? '', `the change would not read back as wanted${faultOf(attempt.text)}`);
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
  return { text: applySplices(source, edit.splices), touched: edit.touched };
}

/** What stops an attempt from being read, such as an alias whose anchor is gone. */
function faultOf(text: string | undefined): string {
  const reading = text === undefined ? undefined : readYamlDocument(parseYaml(text, true));
  return reading === undefined || reading.ok ? '' : `: ${reading.message}`;
}

/** The wanted values, the same numbers beyond JavaScript's, and every top-level pair that was not to change byte for byte. */
function readsBack(before: Known, text: string, wanted: Frontmatter): boolean {
  const document = parseYaml(text, true);
  const reading = readYamlDocument(document);
  if (!reading.ok || !deepEqual(reading.value, wanted)) return false;
  const lossy = new Set(reading.lossy);
  const lost = before.lossy.some((pointer) => !lossy.has(pointer) && sameAt(before.value, wanted, pointer));
  if (lost || !isMap(before.document.contents)) return !lost;
  const after = isMap(document.contents) ? pairTexts(document.contents, text) : new Map<string, string>();
  for (const [key, pair] of pairTexts(before.document.contents, before.source)) {
    const kept = Object.hasOwn(wanted, key) && deepEqual(before.value[key], wanted[key]);
    if (kept && after.get(key) !== pair) return false;
  }
  return true;
}

function pairTexts(map: YAMLMap, source: string): Map<string, string> {
  const text = ({ key, start, end }: Entry): [string, string] => [
    isScalar(key) ? String(key.value) : '',
    source.slice(start, end),
  ];
  return new Map(entriesOf(map, source).map(text));
}

function sameAt(left: unknown, right: unknown, pointer: string): boolean {
  const at = (value: unknown) =>
    (parsePointer(pointer) ?? []).reduce<unknown>((here, name) => (here as Frontmatter | undefined)?.[name], value);
  return at(left) === at(right);
}

function parentOf(pointer: string): string {
  const names = parsePointer(pointer) ?? [];
  return names.length < 2 ? pointer : names.slice(0, -1).reduce(pointerTo, '');
}

/** Indentation of a level: that of the first line that has any; none when all stands on one line. */
function jsonStep(source: string): string {
  return /\n([ \t]+)\S/.exec(source)?.[1] ?? '';
}
