import { realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { DomainError } from '../../../kernel/errors.ts';
import type { Oid } from '../../../ports/git-records.ts';
import type { IntroducedChange, PushedObjects, PushFooting, RefMove } from '../../../ports/git-transfer.ts';
import { wallTime } from '../git-process.ts';
import { gitStream } from '../git-stream.ts';
import { introducedChanges } from '../history/introduced.ts';
import type { ObjectPlace } from '../incoming/large-blobs.ts';
import { CatFile } from '../objects/cat-file.ts';
import { formatOf, isOid, rawLength } from '../objects/object-id.ts';
import { modes, Tree } from '../objects/tree-codec.ts';

/**
 * The environment in which a push's objects can be read: git keeps them in a directory below `objects` until the hook agrees
 * (git-receive-pack, "QUARANTINE ENVIRONMENT").
 */
export async function quarantineEnvironment(gitDir: string, path: string | null): Promise<Record<string, string>> {
  if (path === null) return {};
  const objects = join(await realpath(gitDir), 'objects');
  if (dirname(await realpath(path)) !== objects) throw new Error(`${path} is no quarantine of this repository`);
  return { GIT_OBJECT_DIRECTORY: path, GIT_ALTERNATE_OBJECT_DIRECTORIES: JSON.stringify(objects) };
}

/** The lines a hook got. */
export function parseCommands(lines: string): RefMove[] {
  return lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [old = '', new_ = ''] = line.split(' ', 2);
      const ref = line.slice(old.length + new_.length + 2);
      const known = [old, new_].map((oid) => (/^0+$/.test(oid) ? null : oid));
      if (!isOid(old) || !isOid(new_) || ref.includes('\uFFFD')) throw new Error(`not a push: ${line}`);
      return { ref, old: known[0] ?? null, new: known[1] ?? null };
    });
}

const headBytes = 4096;
/** Commits of one push that are looked at one by one. */
const mostCommits = 100_000;

/** Of a commit's history what no visible ref has. */
const newIn = (commit: Oid) => [commit, '--not', '--branches', '--tags', '--glob=refs/pull/*'];

/** Reads the objects of one push. */
export class Quarantine implements PushedObjects {
  readonly #place: ObjectPlace;
  #reader: CatFile | null = null;
  /** Files of one directory come one after the other. */
  /** What tags lead to: thousands can stand on a chain of thousands. */
  readonly #commits = new Map<Oid, Oid>();
  readonly #trees = new LRUCache<Oid, Tree>({ max: 64 });

  constructor(place: ObjectPlace) {
    this.#place = place;
  }

  /** Whether a command removes published commits: git itself requires `--force` for that. */
  async isForced({ ref, old, new: new_ }: RefMove): Promise<boolean> {
    if (old === null || new_ === null || old === new_) return false;
    if (!ref.startsWith('refs/heads/')) return true;
    const { processes, ...options } = this.#place;
    const { code, stderr } = await processes.run(['merge-base', '--is-ancestor', old, new_], options);
    if (code === 0 || code === 1) return code === 1;
    throw new DomainError('repository_unavailable', 'The push could not be read', { cause: new Error(stderr) });
  }

  introduced(new_: Oid): AsyncGenerator<IntroducedChange> {
    return introducedChanges(this.#place, newIn(new_));
  }

  async footing(new_: Oid): Promise<PushFooting> {
    const { processes, ...rest } = this.#place;
    const options = { ...rest, timeout: wallTime.read, what: 'The push' };
    const parents = new Map<Oid, Oid[]>();
    let open = '';
    for await (const chunk of gitStream(processes, ['rev-list', '--parents', ...newIn(new_)], options)) {
      const lines = (open + chunk.toString('latin1')).split('\n');
      open = lines.pop() ?? '';
      for (const line of lines) {
        const [commit = '', ...of] = line.split(' ');
        parents.set(commit, of);
      }
      if (parents.size > mostCommits)
        throw new DomainError('too_large', `one push may bring ${mostCommits} commits without manage_studio`);
    }
    const known = new Set([...parents.values()].flat().filter((oid) => !parents.has(oid)));
    const bases = new Map<Oid, Oid | null>();
    return {
      known: parents.size === 0 ? [new_] : [...known],
      baseOf(commit) {
        const way: Oid[] = [];
        let at: Oid | null = commit;
        for (; at !== null && parents.has(at) && !bases.has(at); at = parents.get(at)?.[0] ?? null) way.push(at);
        const base = at === null ? null : (bases.get(at) ?? (parents.has(at) ? null : at));
        for (const one of way) bases.set(one, base);
        return base;
      },
    };
  }

  async commitOf(oid: Oid): Promise<Oid | null> {
    const way: Oid[] = [];
    for (let at: Oid | null = oid; at !== null; at = await this.#tagged(at)) {
      const known = this.#commits.get(at);
      const found = known === undefined ? await this.#objects().ask(at, false) : null;
      way.push(at);
      if (known === undefined && found?.type !== 'commit') continue;
      for (const one of way) this.#commits.set(one, known ?? at);
      return known ?? at;
    }
    return null;
  }

  /** What a tag is of; null for all else. */
  async #tagged(oid: Oid): Promise<Oid | null> {
    const found = await this.#objects().ask(oid, true);
    const head = found?.type === 'tag' ? (found.content?.toString('latin1', 0, 80) ?? '') : '';
    return /^object ([0-9a-f]+)\n/.exec(head)?.[1] ?? null;
  }

  async blob(oid: Oid, limit: number): Promise<{ size: number; head: Buffer }> {
    const found = await this.#objects().ask(oid, false);
    if (found === null) throw new DomainError('not_found', `No such blob: ${oid}`);
    const { size } = found;
    const content = size > limit ? null : (await this.#objects().ask(oid, true))?.content;
    // A copy: the whole content would live as long as its first bytes.
    return { size, head: Buffer.from(content?.subarray(0, headBytes) ?? []) };
  }

  async rival(commit: Oid, path: string): Promise<string | null> {
    const head = (await this.#objects().ask(commit, true))?.content?.toString('latin1', 0, 80) ?? '';
    let at = /^tree ([0-9a-f]+)\n/.exec(head)?.[1];
    const above: string[] = [];
    for (const name of path.split('/')) {
      if (at === undefined) return null;
      const tree = await this.#tree(at);
      const twin = tree?.alike(name).find((entry) => entry.name !== name);
      // It is gone again in a later commit of the same push.
      const own = tree?.find(name);
      if (own === undefined || own === null) return null;
      if (twin) return [...above, twin.name].join('/');
      above.push(name);
      at = own.mode === modes.tree ? own.oid : undefined;
    }
    return null;
  }

  async #tree(oid: Oid): Promise<Tree | null> {
    const known = this.#trees.get(oid);
    if (known) return known;
    const content = (await this.#objects().ask(oid, true))?.content;
    if (content == null) return null;
    const tree = await Tree.read(content, rawLength[formatOf(oid)]);
    this.#trees.set(oid, tree);
    return tree;
  }

  /** Ends the process that reads contents. */
  async close(): Promise<void> {
    await this.#reader?.close();
    this.#reader = null;
  }

  #objects(): CatFile {
    const { processes, gitDir, env, signal } = this.#place;
    this.#reader ??= new CatFile(processes, gitDir, { env, signal });
    return this.#reader;
  }
}
