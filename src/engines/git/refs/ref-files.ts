import { type Dirent, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { forEachYielding, Pace, SharedRuns, sortYielding } from '../../../lib/concurrency.ts';
import type { Oid, Ref } from '../../../ports/git-records.ts';
import { isOid } from '../objects/object-id.ts';

/** A symbolic ref may point to another; git follows five. */
const deepest = 5;

/** What a missing file looks like: also a ref named like a directory, or below a ref. */
const absent = new Set(['ENOENT', 'EISDIR', 'ENOTDIR', 'ENAMETOOLONG']);

/** What would lead out of the directory of refs; git allows none of it in a name. */
const strays = /(^|\/)\.|\0/;

/** For what reads a file or directory that may be missing. @throws every other error */
export function nullIfAbsent(error: NodeJS.ErrnoException): null {
  if (absent.has(error.code ?? '')) return null;
  throw error;
}

/**
 * Reads a ref at once. It is one line, and every request to content begins with two of them: through the thread pool they are six iterations of the
 * event loop, which cost a page of entries more than the reads do, and under load what all requests wait for. Lists of thousands yield in between.
 */
function readNow(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    return nullIfAbsent(error as NodeJS.ErrnoException);
  }
}

function entriesNow(path: string): Dirent[] {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch (error) {
    return nullIfAbsent(error as NodeJS.ErrnoException) ?? [];
  }
}

/**
 * Reads refs straight from the files git keeps (gitrepository-layout): a loose file per ref, which wins, else a line in `packed-refs`.
 * Loose files are looked at first, because git writes `packed-refs` before it removes them.
 */
export class RefFiles {
  readonly #gitDir: string;
  readonly #lists = new SharedRuns<readonly Ref[]>();
  #packed: { stamp: string; refs: Map<string, Oid> } = { stamp: '', refs: new Map() };

  constructor(gitDir: string) {
    this.#gitDir = gitDir;
  }

  /** The object a full ref name leads to; null when there is no such ref. */
  async read(name: string): Promise<Oid | null> {
    return this.#follow(name);
  }

  #follow(name: string): Oid | null {
    let current = name;
    for (let depth = 0; depth <= deepest; depth += 1) {
      if (strays.test(current)) return null;
      const text = readNow(join(this.#gitDir, current))?.trim();
      if (text === undefined || text === '') return this.#packedRefs().get(current) ?? null;
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

  /** All refs below a prefix such as `refs/heads`, sorted by name. There are thousands, and lists requested at the same time are read once. */
  list(prefix: string): Promise<readonly Ref[]> {
    return this.#lists.run(prefix, () => this.#list(prefix));
  }

  async #list(prefix: string): Promise<readonly Ref[]> {
    const found = new Map<string, Oid>();
    const loose = await this.#looseNames(prefix);
    await forEachYielding(loose, (name) => {
      const oid = this.#follow(name);
      if (oid !== null) found.set(name, oid);
    });
    await forEachYielding(this.#packedRefs(), ([name, oid]) => {
      if (name.startsWith(`${prefix}/`) && !loose.has(name)) found.set(name, oid);
    });
    // As git sorts them, by bytes.
    const keyed = [...found].map(([name, oid]) => ({ name, oid, key: Buffer.from(name).toString('latin1') }));
    const sorted = await sortYielding(keyed, (a, b) => (a.key < b.key ? -1 : 1));
    return sorted.map(({ name, oid }) => ({ name, oid }));
  }

  async #looseNames(prefix: string): Promise<Set<string>> {
    const names = new Set<string>();
    const pace = new Pace();
    const open = [prefix];
    for (let directory = open.pop(); directory !== undefined; directory = open.pop()) {
      for (const entry of entriesNow(join(this.#gitDir, directory))) {
        const name = `${directory}/${entry.name}`;
        if (entry.isDirectory()) open.push(name);
        else if (!name.endsWith('.lock')) names.add(name);
      }
      if (pace.isDue) await pace.yield();
    }
    return names;
  }

  /** The parsed file is kept until the file is another one: git replaces it by rename. */
  #packedRefs(): Map<string, Oid> {
    const path = join(this.#gitDir, 'packed-refs');
    const seen = statSync(path, { bigint: true, throwIfNoEntry: false });
    const stamp = seen === undefined ? '' : `${seen.ino}:${seen.mtimeNs}:${seen.size}`;
    if (this.#packed.stamp !== stamp) this.#packed = { stamp, refs: parsePackedRefs(readNow(path) ?? '') };
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
