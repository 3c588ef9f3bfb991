import { readdir, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { DomainError } from '../../../kernel/errors.ts';
import { forEachConcurrently, Pace } from '../../../lib/concurrency.ts';
import { foldCase } from '../../../lib/text.ts';
import type { Oid } from '../../../ports/git-records.ts';
import type {
  GitServeRequest,
  IntroducedChange,
  PushCommand,
  PushedObjects,
  PushFooting,
  PushVerdict,
  RefMove,
} from '../../../ports/git-transfer.ts';
import { wallTime } from '../git-process.ts';
import { gitStream } from '../git-stream.ts';
import { GitTime, introducedChanges } from '../history/introduced.ts';
import { newCollision } from '../history/new-collision.ts';
import { checkIncoming, checkMessages } from '../incoming/check-incoming.ts';
import type { ObjectPlace } from '../incoming/large-blobs.ts';
import { sizeText, type Tip, type TreeLimits } from '../incoming/limits.ts';
import { CatFile } from '../objects/cat-file.ts';
import { formatOf, isOid, rawLength } from '../objects/object-id.ts';
import { modes, Tree } from '../objects/tree-codec.ts';
import { nullIfAbsent } from '../refs/ref-files.ts';
import type { GitRepository } from '../repository.ts';
import type { Lendable } from '../slots.ts';
import { harmlessFaultsOf } from '../upkeep/fsck.ts';
import { NamedObjects } from './named-objects.ts';
import { packetsOf } from './push-answer.ts';
import type { HookCall, PushHooks } from './push-hook.ts';
import { type ServedRepository, serveGit } from './serve.ts';

/** How long a push waits for the writers of its branches, milliseconds. */
const patience = 60_000;
/** How long it may take to check one, milliseconds: it holds a slot of all pushes meanwhile. */
const longestCheck = wallTime.fetch;

interface Push extends ServedRepository {
  repository: GitRepository;
  hooks: PushHooks;
  limits: TreeLimits;
  /** What it requests. */
  commands: readonly RefMove[];
  /** Objects that its client sends. */
  sent: number;
  /** What it holds among all pushes until git is done with it. */
  slot: Lendable;
  request: GitServeRequest & Required<Pick<GitServeRequest, 'authorizePush'>>;
}

/** Serves one push that is decided about while its objects are in quarantine; its branches hold still until git is done with it. */
export async function servePush(push: Push): Promise<void> {
  const { repository, hooks, log, request, commands, slot } = push;
  const over = new AbortController();
  const signal = AbortSignal.any([request.signal, over.signal]);
  let release = () => {};
  let concerned: string[] = [];
  let allowed: RefMove[] = [];
  const hook = await hooks.open(async (call) => {
    try {
      const late = AbortSignal.timeout(longestCheck);
      const { verdict, commands, branches } = await decide(push, call, AbortSignal.any([signal, late])).catch(
        (error) => {
          throw late.aborted ? new DomainError('git_timeout', 'the check took too long', { cause: error }) : error;
        },
      );
      if (!verdict.allow) return { allow: false, message: printable(verdict.message) };
      concerned = branches;
      const held = await repository.holdBranches(branches, AbortSignal.any([signal, AbortSignal.timeout(patience)]));
      if (!signal.aborted) release = held;
      // The push ended in the same moment: nothing would release them.
      else held();
      const confirmed = (await request.confirmPush?.(commands)) ?? verdict;
      if (!confirmed.allow) return { allow: false, message: printable(confirmed.message) };
      allowed = commands;
      return confirmed;
    } catch (err) {
      if (err instanceof DomainError && err.code === 'too_large')
        return { allow: false, message: printable(err.message) };
      log.warn({ err }, 'a push could not be checked');
      if (err instanceof DomainError && err.code === 'git_timeout')
        return { allow: false, message: 'to check this push took too long; push fewer commits at a time' };
      return { allow: false, message: 'this push could not be checked; try again' };
    }
  });
  const settle = async () => {
    hook.close();
    over.abort(new Error('the push is over'));
    const moved = await movedOf(repository, allowed).catch((err: unknown) => {
      log.error({ err }, 'the refs could not be read after a push');
      return [];
    });
    request.settledPush?.({ commands, moved });
    release();
    repository.moved(concerned.map((branch) => `refs/heads/${branch}`));
    slot.lend();
  };
  let settled: Promise<void> | null = null;
  const settleOnce = () => (settled ??= settle());
  try {
    await serveGit(push, request, { hook, moves: () => allowed, onEnd: settleOnce });
  } finally {
    await settleOnce();
  }
}

/** Branches of one push that are compared with what they were at the same time, each by a process. */
const comparedTogether = 4;

const onlyPublished: PushVerdict = { allow: false, message: 'only branches and tags can be pushed' };

async function decide(
  { processes, gitDir, repository, limits, sent, request }: Push,
  call: HookCall,
  signal: AbortSignal,
): Promise<{ verdict: PushVerdict; commands: PushCommand[]; branches: string[] }> {
  const place = { processes, gitDir, env: await quarantineEnvironment(gitDir, call.quarantine), signal };
  const lines = parseCommands(call.lines);
  const tips = lines.flatMap(tipOf);
  const named = await NamedObjects.of(place, await repository.objectFormat(), sent);
  const pushed = new Quarantine(place, limits, () => named.hidden(repository, tips, signal));
  // First of all: what is looked at afterwards has an end then.
  await checkIncoming(place, tips, { scope: 'unseen', others: named.bases, each: (oid) => named.see(oid) }, limits);
  await checkMessages(place, tips);
  const commands: PushCommand[] = [];
  await forEachConcurrently(lines, comparedTogether, async (command, at) => {
    commands[at] = { ...command, forced: await pushed.isForced(command) };
  });
  const decided = await request.authorizePush(commands, pushed).finally(() => pushed.close());
  // Whatever the rules say: git takes any ref here, and the others are ours.
  const published = commands.every(({ ref }) => /^refs\/(heads|tags)\//.test(ref));
  const verdict = decided.allow && !published ? onlyPublished : decided;
  const heads = commands.map(({ ref }) => ref).filter((ref) => ref.startsWith('refs/heads/'));
  return { verdict, commands, branches: heads.map((ref) => ref.slice('refs/heads/'.length)) };
}

/**
 * Refs that one push may move, and bytes of what names them: git, its hook and this process each keep all of it. Likewise options and their bytes, each
 * of which git gives the hook as a variable: 400,000 of one byte are a compressed request of 3 KiB.
 */
const most = { refs: 10_000, bytes: 4 * 1024 * 1024, options: 1_000, optionBytes: 64 * 1024 };
const tooMany = `one push may move ${most.refs} refs; push fewer at a time`;
const tooLong = `the names of the refs of one push may take ${most.bytes / 1024 / 1024} MiB together; push fewer at a time`;
const tooManyOptions = `one push may have ${most.options} options; push with fewer of them`;
const tooLongOptions = `the options of one push may take ${most.optionBytes / 1024} KiB together; push with shorter ones, or fewer`;

/** What stands at the head of a push. */
export interface PushHead {
  /** What it requests; of too much only the beginning. */
  commands: readonly RefMove[];
  /** Whether the client reads its answer in bands. */
  hasBands: boolean;
  /** Why it is more than one push may request; null: it is not. */
  excess: string | null;
  /** Objects of its pack, by the header of that; none without one. */
  sent: number;
}

/** As git reads it: it ends the name at the first NUL, and takes only a last line feed away. */
const commandLine = /^([0-9a-f]{40,64}) ([0-9a-f]{40,64}) ([^\0\n]+)(?:\0(.*)|\n?)$/s;

/** As git finds it among the capabilities of a command, neither more nor less often: the pack stands behind the options. */
const withOptions = /^(?:[^\0]*[ \t\r\n])?push-options(?:[ \t\r\n\0=]|$)/;

/**
 * Reads the commands of a push (gitprotocol-pack, "Reference Update Request"), also those git refuses before it runs the hook, and the options
 * behind them, no further than one push may go.
 *
 * @throws DomainError `invalid_request` for what git could read as other commands, such as those of a signed push
 */
export async function headOf(input: AsyncIterable<Buffer>): Promise<PushHead> {
  const packets = packetsOf(input);
  const head: PushHead & { commands: RefMove[] } = { commands: [], hasBands: false, excess: null, sent: 0 };
  let hasOptions = false;
  let bytes = 0;
  const known = (oid = '') => (/^0+$/.test(oid) ? null : oid);
  try {
    for await (const packet of nextList(packets)) {
      bytes += packet.length;
      const line = packet.toString('utf8', 4);
      const [, old, new_, ref, capabilities = ''] = commandLine.exec(line) ?? [];
      if (ref === undefined && !line.startsWith('shallow '))
        throw new DomainError('invalid_request', 'body: must begin with the commands of a push that is not signed');
      if (head.commands.length === most.refs && ref !== undefined) return { ...head, excess: tooMany };
      if (bytes > most.bytes) return { ...head, excess: tooLong };
      if (ref !== undefined) head.commands.push({ ref, old: known(old), new: known(new_) });
      head.hasBands ||= capabilities.split(' ').includes('side-band-64k');
      hasOptions ||= withOptions.test(capabilities);
    }
    const excess = hasOptions ? await excessOfOptions(packets) : null;
    return { ...head, excess, sent: excess === null ? await sentBehind(packets) : 0 };
  } finally {
    await packets.return();
  }
}

/** How a pack begins: its magic, its version and the count of its objects (gitformat-pack). */
const packHeader = { magic: 'PACK', bytes: 12, count: 8 } as const;

/** Objects of the pack behind the lists of a push. */
async function sentBehind(packets: AsyncGenerator<Buffer, void>): Promise<number> {
  let header: Buffer = Buffer.alloc(0);
  while (header.length < packHeader.bytes) {
    const { value: bytes } = await packets.next();
    if (!bytes) return 0;
    header = Buffer.concat([header, bytes]);
  }
  const isPack = header.toString('latin1', 0, packHeader.magic.length) === packHeader.magic;
  return isPack ? header.readUInt32BE(packHeader.count) : 0;
}

/** Why the options of a push are more than it may have; null: they are not. */
async function excessOfOptions(packets: AsyncGenerator<Buffer, void>): Promise<string | null> {
  let count = 0;
  let bytes = 0;
  for await (const packet of nextList(packets)) {
    count += 1;
    bytes += packet.length;
    if (count > most.options) return tooManyOptions;
    if (bytes > most.optionBytes) return tooLongOptions;
  }
  return null;
}

/** The packets before the next flush. `0004` ends nothing: it is a packet with no payload. */
async function* nextList(packets: AsyncGenerator<Buffer, void>): AsyncGenerator<Buffer> {
  for (;;) {
    const { value: packet } = await packets.next();
    if (!packet || /^000[0-3]$/.test(packet.toString('latin1'))) return;
    yield packet;
  }
}

/** Which of some moves are done: git reports each to the client, and the client may be gone. */
async function movedOf(repository: GitRepository, moves: readonly RefMove[]): Promise<RefMove[]> {
  if (moves.length === 0) return [];
  const lists = await Promise.all(['refs/heads', 'refs/tags'].map((prefix) => repository.refsBelow(prefix)));
  const now = new Map(lists.flat().map(({ name, oid }) => [name, oid]));
  return moves.filter((move) => (now.get(move.ref) ?? null) === move.new);
}

function tipOf({ ref, new: oid }: RefMove): Tip[] {
  return oid === null ? [] : [{ name: ref.replace(/^refs\/(heads|tags)\//, ''), oid, ref }];
}

/** The client's terminal shows what we say. */
function printable(message: string): string {
  return message.replace(/[^\P{Cc}\n]/gu, '?');
}

/**
 * The environment in which a push's objects can be read: git keeps them in a directory below `objects` until the hook agrees
 * (git-receive-pack, "QUARANTINE ENVIRONMENT").
 */
async function quarantineEnvironment(gitDir: string, path: string | null): Promise<Record<string, string>> {
  if (path === null) return {};
  const objects = join(await realpath(gitDir), 'objects');
  if (dirname(await realpath(path)) !== objects) throw new Error(`${path} is no quarantine of this repository`);
  return { GIT_OBJECT_DIRECTORY: path, GIT_ALTERNATE_OBJECT_DIRECTORIES: JSON.stringify(objects) };
}

/** The lines a hook got. */
function parseCommands(lines: string): RefMove[] {
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
/** Longer files are not read to their end for their first bytes. */
const longestWhole = 4 * 1024 * 1024;
/** Directories and names of them that are kept to be compared with the files of one push: a directory may hold 200,000 files. */
const mostAlike = 400_000;
/** Names that are looked up in the commits a push merges, each of which may hold other ones: some seconds of work. */
const mostLooks = 2_000_000;
/** Commits of one push that are looked at one by one. */
const mostCommits = 100_000;

/** Of a commit's history what no visible ref has. */
const newIn = (commit: Oid) => [commit, '--not', '--branches', '--tags', '--glob=refs/pull/*'];

/** Reads the objects of one push. */
class Quarantine implements PushedObjects {
  readonly hidden: () => Promise<Oid | null>;
  readonly #place: ObjectPlace;
  /** For all refs of the push together. */
  readonly #time = new GitTime();
  #reader: CatFile | null = null;
  /** What tags lead to: thousands can stand on a chain of thousands. */
  readonly #commits = new Map<Oid, Oid>();
  /** What was read of files: one may have hundreds of names. */
  readonly #blobs = new LRUCache<Oid, { size: number; head: Buffer }>({ max: 1_000 });
  /** Bytes of all files that were judged by what they hold, and the most of them. */
  #judged = 0;
  readonly #most: number;
  /** Files of one directory come one after the other, or hundreds at a time. What is evicted while it is read still comes to its callers. */
  readonly #trees = new LRUCache<Oid, Tree>({
    max: 64,
    fetchMethod: (oid) => this.#readTree(oid),
    ignoreFetchAbort: true,
  });
  /** Names of directories that file systems may take for others beside them; most directories have none. */
  readonly #alike = new LRUCache<Oid, ReadonlyMap<string, readonly string[]>>({
    maxSize: mostAlike,
    sizeCalculation: (alike) => 1 + [...alike.values()].reduce((sum, names) => sum + names.length, 0),
    fetchMethod: async (oid) => (await this.#trees.fetch(oid))?.allAlike(),
    ignoreFetchAbort: true,
  });

  constructor(place: ObjectPlace, { judgedBytes }: TreeLimits, hidden: () => Promise<Oid | null>) {
    this.#place = place;
    this.#most = judgedBytes;
    this.hidden = hidden;
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
    return introducedChanges({ ...this.#place, time: this.#time }, newIn(new_));
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
    const known = this.#blobs.get(oid);
    if (known !== undefined) return known;
    const found = await this.#objects().ask(oid, false);
    if (found === null) throw new DomainError('not_found', `No such blob: ${oid}`);
    const { size } = found;
    if (size > limit) return { size, head: Buffer.alloc(0) };
    this.#judged += size;
    if (this.#judged > this.#most)
      throw new DomainError(
        'too_large',
        `the media of one push may hold ${sizeText(this.#most)} without manage_studio; push fewer files at a time`,
      );
    const content = size > longestWhole ? await this.#beginning(oid) : (await this.#objects().ask(oid, true))?.content;
    // A copy: the whole content would live as long as its first bytes.
    const blob = { size, head: Buffer.from(content?.subarray(0, headBytes) ?? []) };
    this.#blobs.set(oid, blob);
    return blob;
  }

  /** The first bytes of a blob. git is ended when it has written them. */
  async #beginning(oid: Oid): Promise<Buffer> {
    const { processes, ...rest } = this.#place;
    const options = { ...rest, timeout: wallTime.read, what: 'The push' };
    const chunks: Buffer[] = [];
    let read = 0;
    for await (const chunk of gitStream(processes, ['cat-file', 'blob', oid], options)) {
      chunks.push(chunk);
      read += chunk.length;
      if (read >= headBytes) break;
    }
    return Buffer.concat(chunks);
  }

  async newCollision(commit: Oid, others: readonly Oid[]): Promise<[string, string] | null> {
    const trees: (Oid | null)[] = [];
    for (const other of others) trees.push((await this.#treeOf(other)) ?? null);
    const empty = Tree.empty(rawLength[formatOf(commit)]);
    const read = async (oid: Oid | null) => (oid === null ? undefined : await this.#trees.fetch(oid)) ?? empty;
    return newCollision(read, (await this.#treeOf(commit)) ?? null, trees, mostLooks);
  }

  async rival(commit: Oid, path: string): Promise<string | null> {
    const pace = new Pace();
    let at = await this.#treeOf(commit);
    const above: string[] = [];
    for (const name of path.split('/')) {
      if (pace.isDue) await pace.yield();
      if (at === undefined) return null;
      // It is gone again in a later commit of the same push.
      const own = (await this.#trees.fetch(at))?.find(name);
      if (own === undefined || own === null) return null;
      const twin = (await this.#alike.fetch(at))?.get(foldCase(name))?.find((other) => other !== name);
      if (twin !== undefined) return [...above, twin].join('/');
      above.push(name);
      at = own.mode === modes.tree ? own.oid : undefined;
    }
    return null;
  }

  async faulty(): Promise<{ oid: Oid; fault: string } | null> {
    const { processes, gitDir, env, signal } = this.#place;
    const packs = env.GIT_OBJECT_DIRECTORY === undefined ? null : join(env.GIT_OBJECT_DIRECTORY, 'pack');
    // A push that brings no object has no pack.
    const names = packs === null ? [] : ((await readdir(packs).catch(nullIfAbsent)) ?? []);
    for (const name of names.filter((one) => one.endsWith('.pack'))) {
      const faults = await harmlessFaultsOf(this.#place, join(packs ?? '', name));
      if (faults.size === 0) continue;
      // Without the quarantine: a client that knows no branch of the repository sends what it has already, and deltas bring their bases.
      const stored = new CatFile(processes, gitDir, { signal });
      try {
        for (const [oid, fault] of faults) if ((await stored.ask(oid, false)) === null) return { oid, fault };
      } finally {
        await stored.close();
      }
    }
    return null;
  }

  async #treeOf(commit: Oid): Promise<Oid | undefined> {
    const head = (await this.#objects().ask(commit, true))?.content?.toString('latin1', 0, 80) ?? '';
    return /^tree ([0-9a-f]+)\n/.exec(head)?.[1];
  }

  async #readTree(oid: Oid): Promise<Tree | undefined> {
    const content = (await this.#objects().ask(oid, true))?.content;
    return content == null ? undefined : Tree.read(content, rawLength[formatOf(oid)]);
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
