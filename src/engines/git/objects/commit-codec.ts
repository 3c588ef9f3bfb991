import type { Commit, Oid, Signature } from '../../../ports/git-records.ts';

/** Contents of a new commit; dates are milliseconds since 1970, written in UTC. */
export interface CommitDraft {
  tree: Oid;
  parents: Oid[];
  author: { name: string; email: string };
  committer: { name: string; email: string };
  date: Date;
  message: string;
}

/** git ends a name at `<` and a line at LF; fsck refuses an empty name, so there is always one. */
function identity(person: { name: string; email: string }, seconds: number): string {
  return `${cleanIdentity(person.name) || 'unknown'} <${cleanIdentity(person.email)}> ${seconds} +0000`;
}

/** Without what cannot stand in an identity line. */
function cleanIdentity(text: string): string {
  const stray = /[\p{Cc}<>]/gu;
  return text.toWellFormed().replace(stray, '').trim();
}

/** Content of a commit object (git's header lines, an empty line, the message with one newline at its end). */
export function formatCommit(draft: CommitDraft): Buffer {
  const seconds = Math.floor(draft.date.getTime() / 1000);
  const message = draft.message
    .toWellFormed()
    .replaceAll('\0', '')
    .replace(/(?<!\n)\n+$/, '');
  return Buffer.from(
    [
      `tree ${draft.tree}`,
      ...draft.parents.map((parent) => `parent ${parent}`),
      `author ${identity(draft.author, seconds)}`,
      `committer ${identity(draft.committer, seconds)}`,
      '',
      `${message}\n`,
    ].join('\n'),
  );
}

function pad(value: number): string {
  return String(value).padStart(2, '0');
}

/** RFC 3339 with the commit's own offset; nonsense in old commits becomes the epoch or UTC instead of an error. */
function rfc3339(seconds: number, zone: string): string {
  const parts = /^([+-])(\d\d)([0-5]\d)$/.exec(zone);
  const hours = Number(parts?.[2] ?? 0);
  const usable = parts !== null && hours < 24;
  const offset = usable ? (parts[1] === '-' ? -1 : 1) * (hours * 60 + Number(parts[3])) : 0;
  const local = new Date((seconds + offset * 60) * 1000);
  const stamp = Number.isNaN(local.getTime()) || local.getUTCFullYear() > 9999 ? new Date(0) : local;
  const suffix =
    offset === 0
      ? 'Z'
      : `${offset < 0 ? '-' : '+'}${pad(Math.floor(Math.abs(offset) / 60))}:${pad(Math.abs(offset) % 60)}`;
  return `${stamp.toISOString().slice(0, 19)}${suffix}`;
}

/** Characters of a name or address that are read: lists show a hundred of them. git keeps all of it. */
const longestName = 1_000;
const shortened = (text: string) => (text.length > longestName ? text.slice(0, longestName).toWellFormed() : text);

function parseSignature(line: string): Signature {
  const open = line.indexOf('<');
  const close = line.lastIndexOf('>');
  if (open === -1 || close < open) return { name: shortened(line.trim()), email: '', date: rfc3339(0, '+0000') };
  const [seconds = '0', zone = ''] = line
    .slice(close + 1)
    .trim()
    .split(' ');
  return {
    name: shortened(line.slice(0, open).trim()),
    email: shortened(line.slice(open + 1, close).trim()),
    date: rfc3339(Number.parseInt(seconds, 10) || 0, zone),
  };
}

/** The text in the encoding the commit names; UTF-8 when it names none, or one that is not known. */
function decode(content: Buffer): string {
  const headerEnd = content.indexOf('\n\n');
  const header = content.toString('latin1', 0, headerEnd === -1 ? content.length : headerEnd);
  const label = /^encoding (\S+)$/m.exec(header)?.[1];
  if (label !== undefined) {
    try {
      return new TextDecoder(label).decode(content);
    } catch {
      // An encoding this platform does not support: fall through to UTF-8.
    }
  }
  return content.toString('utf8');
}

/** Reads a commit object. Newlines at the end of the message, signatures and other headers are left out. */
export function parseCommit(sha: Oid, content: Buffer): Commit {
  const text = decode(content);
  const split = text.indexOf('\n\n');
  const header = split === -1 ? text : text.slice(0, split);
  const lines = header.split('\n');
  const value = (key: string) => lines.find((line) => line.startsWith(`${key} `))?.slice(key.length + 1) ?? '';
  return {
    sha,
    tree_sha: value('tree'),
    parents: lines.filter((line) => line.startsWith('parent ')).map((line) => line.slice(7)),
    message: split === -1 ? '' : text.slice(split + 2).replace(/(?<!\n)\n+$/, ''),
    author: parseSignature(value('author')),
    committer: parseSignature(value('committer')),
  };
}
