import { readFileSync, statSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import type { Oid, Ref } from '../../../ports/git-records.ts';
import { isOid } from '../objects/object-id.ts';

/** A symbolic ref may point to another; git follows five. */
const deepest = 5;

/** What a missing file looks like: also a ref named like a directory, or below a ref. */
const absent = new Set(['ENOENT', 'EISDIR', 'ENOTDIR', 'ENAMETOOLONG']);

/** What would lead out of the directory of refs; git allows none of it in a name. */
const strays = /(^|\/)\.|\0/;

function nullIfAbsent(error: NodeJS.ErrnoException): null {
  if (absent.has(error.code ?? '')) return null;
  throw error;
}

/** Of all lists of refs together: a repository has thousands, and anyone who reads it can list them many times at once. */
const openFiles = pLimit(64);

const readIfThere = (path: string) => openFiles(() => readFile(path, 'utf8')).catch(nullIfAbsent);

/**
 * Reads a ref at once. It is one line, and every request to content begins with two of them: through the thread pool they are six iterations of the
 * event loop, which cost a page of entries more than the reads do, and under load what all requests wait for.
 */
function readNow(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    return nullIfAbsent(error as NodeJS.ErrnoException);
  }
}

/**
 * Reads refs straight from the files git keeps (gitrepository-layout): a loose file per ref, which wins, else a line in `packed-refs`.
 * Loose files are looked at first, because git writes `packed-refs` before it removes them.
 */
export class RefFiles {
  readonly #gitDir: string;
  #packed: { stamp: string; refs: Map<string, Oid> } = { stamp: '', refs: new Map() };

  constructor(gitDir: string) {
    this.#gitDir = gitDir;
  }

  /** The object a full ref name leads to; null when there is no such ref. */
  read(name: string): Promise<Oid | null> {
    return this.#follow(name, readNow);
  }

  async #follow(name: string, read: (path: string) => string | null | Promise<string | null>): Promise<Oid | null> {
    let current = name;
    for (let depth = 0; depth <= deepest; depth += 1) {
      if (strays.test(current)) return null;
      const text = (await read(join(this.#gitDir, current)))?.trim();
      if (text === undefined || text === '') return (await this.#packedRefs()).get(current) ?? null;
      if (!text.startsWith('ref:')) return isOid(text) ? text : null;
      current = text.slice(4).trim();
    }
    return null;
  }

  /** The ref HEAD names, whether it exists or not; null when HEAD is detached or missing. */
  async head(): Promise<string | null> {
    const text = readNow(join(this.#gitDir, 'HEAD'));
    return text?.startsWith('ref:') ? text.slice(4).trim() : null;
  }

  /** All refs below a prefix such as `refs/heads`, sorted by name. */
  async list(prefix: string): Promise<Ref[]> {
    const names = await this.#looseNames(prefix);
    for (const name of (await this.#packedRefs()).keys()) if (name.startsWith(`${prefix}/`)) names.add(name);
    // There may be thousands: these are read in the thread pool.
    const refs = await Promise.all(
      [...names].map(async (name) => ({ name, oid: await this.#follow(name, readIfThere) })),
    );
    return refs
      .filter((ref): ref is Ref => ref.oid !== null)
      .sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
  }

  async #looseNames(prefix: string): Promise<Set<string>> {
    const names = new Set<string>();
    const walk = async (directory: string): Promise<void> => {
      const entries = await readdir(join(this.#gitDir, directory), { withFileTypes: true }).catch(() => []);
      for (const entry of entries) {
        const name = `${directory}/${entry.name}`;
        if (entry.isDirectory()) await walk(name);
        else if (!name.endsWith('.lock')) names.add(name);
      }
    };
    await walk(prefix);
    return names;
  }

  /** The parsed file is kept until the file is another one: git replaces it by rename. */
  async #packedRefs(): Promise<Map<string, Oid>> {
    const path = join(this.#gitDir, 'packed-refs');
    const seen = statSync(path, { bigint: true, throwIfNoEntry: false });
    const stamp = seen === undefined ? '' : `${seen.ino}:${seen.mtimeNs}:${seen.size}`;
    if (this.#packed.stamp !== stamp) this.#packed = { stamp, refs: parsePackedRefs((await readIfThere(path)) ?? '') };
    return this.#packed.refs;
  }
}

/** Lines `<oid> <ref>`; `#` starts the header, `^` the peeled value of the tag above. */
function parsePackedRefs(text: string): Map<string, Oid> {
  const refs = new Map<string, Oid>();
  for (const line of text.split('\n')) {
    const space = line.indexOf(' ');
    const oid = line.slice(0, space);
    if (space > 0 && isOid(oid)) refs.set(line.slice(space + 1), oid);
  }
  return refs;
}
