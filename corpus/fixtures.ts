import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, extname, join } from 'node:path';

/** A wrong result, and all it takes to see it again. */
export interface Reproduction {
  source: string;
  path: string;
  /** Which check found it. */
  check: string;
  fault: string;
  /** The edit or edits, as data. */
  edit: unknown;
  /** Texts by role: `before`, `after`, and of merges `base`, `current`, `incoming`, `merged`. */
  files: Record<string, string>;
}

/** More are counted but not written. */
const mostWritten = 200;

/** Writes reproductions below a directory, which is made with the first. */
export class Fixtures {
  #root: string | undefined;
  #count = 0;
  #made = false;

  /** @param root where; undefined: a new directory among the system's temporary ones */
  constructor(root: string | undefined) {
    this.#root = root;
  }

  /** The directory, once something was written. */
  get directory(): string | null {
    return this.#made ? (this.#root ?? null) : null;
  }

  /** @returns the directory of this one; null when there are too many already */
  async write({ files, ...about }: Reproduction): Promise<string | null> {
    if (++this.#count > mostWritten) return null;
    this.#root ??= await mkdtemp(join(tmpdir(), 'portico-corpus-'));
    this.#made = true;
    const name = `${String(this.#count).padStart(3, '0')}-${about.check}-${basename(about.path, extname(about.path))}`;
    const directory = join(this.#root, name.replace(/[^\w.-]+/g, '-').slice(0, 100));
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, 'edit.json'), `${JSON.stringify(about, null, 2)}\n`);
    for (const [role, text] of Object.entries(files)) {
      await writeFile(join(directory, `${role}${extname(about.path)}`), text);
    }
    return directory;
  }
}
