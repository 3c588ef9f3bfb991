import type { Readable, Writable } from 'node:stream';
import type { Mode, Oid, Ref } from './git-records.ts';

export interface ImportProgress {
  phase: 'connecting' | 'receiving' | 'resolving' | 'checking' | 'finishing';
  received_objects: number;
  total_objects: number;
}

/** How the service signs in at an upstream. Never part of an address, an argument, a stored configuration or a log. */
export type UpstreamAuth =
  | { kind: 'none' }
  /** An access token, sent as the password of HTTP Basic, which all git hosts take. */
  | { kind: 'token'; token: string }
  | { kind: 'basic'; username: string; password: string }
  /** OpenSSH or PEM, without a passphrase. */
  | { kind: 'ssh_key'; private_key: string };

export interface ImportSource {
  /** `https://…` or `ssh://account@host[:port]/path` (guarded), or an absolute path of a local repository (command line only). */
  url: string;
  kind: 'https' | 'ssh' | 'path';
  /** An `ssh_key` for ssh; anything else for https. Default: none. */
  auth?: UpstreamAuth;
  /** Only these branches, short names, and no tags; default: all of both. The first is the default one when the source's own is not among them. */
  branches?: readonly string[];
  onProgress?: (progress: ImportProgress) => void;
  signal?: AbortSignal;
}

export interface Imported {
  default_branch: string;
  /** How many were taken. */
  branches: number;
  /** Full names of the source's branches and tags that cannot have their names here. */
  left_out: readonly string[];
}

/** A repository on another host: `https://…`, or `ssh://account@host[:port]/path` with an `ssh_key`. */
export interface Upstream {
  url: string;
  auth: UpstreamAuth;
}

/** Why an upstream could not be used; `unreachable` also when there is no such repository. */
export type UpstreamFailure = 'auth_failed' | 'unreachable' | 'timeout';

export interface UpstreamRefs {
  /** Short name; null when the upstream's HEAD names no branch, or it is empty. */
  default_branch: string | null;
  /** Full names, `refs/heads/main`, sorted. */
  branches: Ref[];
}

/**
 * What one branch (short name) of an upstream becomes: a commit that has what is there in its history, or, while it still holds `expected`, any
 * commit or nothing.
 */
export type PushMove = { branch: string } & ({ oid: Oid; expected?: Oid } | { oid: null; expected: Oid });

export type UpstreamPush =
  | { outcome: 'ok' }
  /** The branch there has commits that were not pushed, or moved at that moment: fetch, merge, push again. */
  | { outcome: 'non_fast_forward' }
  /** The upstream's own rules refused it; `message` is what it said. */
  | { outcome: 'declined'; message: string }
  | { outcome: UpstreamFailure };

/** The ref moves from `old` to `new`; null: it did not exist, or is deleted. */
export interface RefMove {
  /** Full name, as the client sent it. */
  ref: string;
  old: Oid | null;
  new: Oid | null;
}

/** One line of a push. */
export interface PushCommand extends RefMove {
  /** The branch would lose commits, or a tag that exists would change. */
  forced: boolean;
}

export interface PushedChange {
  path: string;
  status: 'added' | 'modified' | 'removed';
  /** What the path becomes; of a removed file what it was. */
  mode: Mode;
  /** What it was before; null of an added one. */
  was: Mode | null;
  /** The content it gets; null of a removed one. */
  oid: Oid | null;
}

/** The same with the commit that made it. */
export interface IntroducedChange extends PushedChange {
  commit: Oid;
  /** Its first parent; null of a first commit. */
  parent: Oid | null;
}

/** How commits that are new stand on those that are there. */
export interface PushFooting {
  /** Parents that are there; the commit itself when it is. */
  known: readonly Oid[];
  /** Where the first-parent line of a commit meets what is there; null: nowhere. */
  baseOf(commit: Oid): Oid | null;
}

/** What a push brings, readable before any of it becomes part of the repository. Renames are shown as removed and added. */
export interface PushedObjects {
  /**
   * Every change of every commit of `new_` that no visible ref has yet, also those a later commit takes back; of a merge what was done by
   * hand: where it is not what merging its parents gives. A path may come more than once.
   */
  introduced(new_: Oid): AsyncIterable<IntroducedChange>;
  /** What the new commits among those of `new_` stand on. Fails with `too_large` for more than 100,000 of them. */
  footing(new_: Oid): Promise<PushFooting>;
  /**
   * An object that the push leads to, or that its objects are made of as deltas, that it does not bring and that only refs reach which git clients are
   * not shown, such as a rescued commit; null: none. What refs are to lead to comes first. Fails with `too_large` for more objects than can be looked at.
   */
  hidden(): Promise<Oid | null>;
  /** The commit an object is, or leads to by one tag or several; null when it leads to something else. */
  commitOf(oid: Oid): Promise<Oid | null>;
  /**
   * Size of a blob, bytes, and its first 4 KiB or all of a shorter one.
   * @param limit bytes up to which it is read at all; `head` is empty above that
   */
  blob(oid: Oid, limit: number): Promise<{ size: number; head: Buffer }>;
  /** The path in the tree of a commit beside which another cannot be checked out where names that differ in case only are one; null: none. */
  rival(commit: Oid, path: string): Promise<string | null>;
  /** Two paths of a commit like that, of which none of some other commits holds both; null: none. */
  newCollision(commit: Oid, others: readonly Oid[]): Promise<[string, string] | null>;
  /**
   * An object that the repository does not have yet and that has a fault of old histories, such as a date with a zero in front, which other hosts
   * and clients may refuse; `fault` is git's name and words for it. null: none.
   */
  faulty(): Promise<{ oid: Oid; fault: string } | null>;
}

/** How a push ended. */
export interface PushResult {
  /** All moves the client requested; empty when it only tried whether it may push. */
  commands: readonly RefMove[];
  /** Those of them that git carried out. */
  moved: readonly RefMove[];
}

export type PushVerdict = { allow: true } | { allow: false; message: string };

/** One request of git's smart HTTP protocol (gitprotocol-http), already authorised. */
export interface GitServeRequest {
  /** Id of the actor it comes from: each has at most a part of what is served at once. */
  client: string;
  service: 'git-upload-pack' | 'git-receive-pack';
  /** True for `GET info/refs`. */
  advertise: boolean;
  /** Value of the `Git-Protocol` header, when it is one of version=0, 1, 2. */
  protocol: string | null;
  input: Readable;
  output: Writable;
  signal: AbortSignal;
  /**
   * Decides about a push once its objects have come in, before any ref moves; all of it is refused or none. The message is shown to the
   * client. The branches concerned hold still from the answer until the push is done. Without it, rewrites and deletions are refused.
   */
  authorizePush?(commands: readonly PushCommand[], pushed: PushedObjects): Promise<PushVerdict>;
  /**
   * Decides once more about a push that is allowed, when its branches hold still: to check it, and to wait for them, can have taken minutes. Default:
   * it stays allowed.
   */
  confirmPush?(commands: readonly PushCommand[]): Promise<PushVerdict>;
  /** Called once git is done with a push, however it ended, while its branches still hold still. */
  settledPush?(result: PushResult): void;
}
