export const isolationLevels = ['bubblewrap', 'user', 'process'] as const;

/** `bubblewrap`: namespaces of its own; `user`: an unprivileged user id; `process`: the server's own user. */
export type IsolationLevel = (typeof isolationLevels)[number];

/** A process, distinguished from a later one with the same pid by its start and by the machine and boot it belongs to. */
export interface ProcessName {
  pid: number;
  /** Clock ticks after boot (proc(5), field 22 of stat). */
  started: string;
  /** Boot and pid namespace. */
  machine: string;
}

/** A file of the commit: a link names its target in `content`. */
export interface WorkspaceFile {
  path: string;
  kind: 'file' | 'executable' | 'link';
  content: Buffer;
}

export interface Command {
  /** For `/bin/sh -c`. */
  text: string;
  /** Relative to the tree. */
  directory: string;
  /** Added to an environment that is built from nothing. */
  variables: Readonly<Record<string, string>>;
  /** Directory of the package cache this command may write to; absent: none. */
  cache?: string;
  /** Whether it may reach the network; kept where builds have a network of their own. */
  network: boolean;
  /** Milliseconds it may take. */
  time: number;
  signal: AbortSignal;
  /** Output as it arrives. A promise pauses it until it resolves. */
  onOutput(chunk: Buffer): Promise<void> | undefined;
  /** Called with the leader of its process group once that runs, and before the command itself begins. */
  onStart(leader: ProcessName): Promise<void>;
}

/**
 * Why a command was ended before it ended itself. `workspace`: its bytes on the disk; `files`: their number; `descriptors`: files open at once;
 * `unmeasured`: the server is kept from measuring what it has written; `hidden`: a process of it is closed to the server; `unexplained`: while it
 * ran, more memory than a build may take was filled with files that nothing shows to be another's.
 */
export type CommandLimit =
  | 'timeout'
  | 'memory'
  | 'unexplained'
  | 'processes'
  | 'descriptors'
  | 'workspace'
  | 'files'
  | 'unmeasured'
  | 'hidden'
  | 'aborted';

export interface CommandEnd {
  /** Null when a signal or a limit ended it. */
  exit_code: number | null;
  signal: string | null;
  limit: CommandLimit | null;
}

/** A file that can be published. */
export interface OutputFile {
  /** Relative to the output directory. */
  path: string;
  /** Its path. */
  file: string;
  /** Bytes. */
  size: number;
}

export interface Output {
  /** In order of path (by UTF-16 code units). */
  files: OutputFile[];
  /** Links and special files that were found, which are never published. */
  refused: string[];
}

/** `missing`: there is no such directory inside the tree; `empty`: it holds no file; the others name a limit. */
export type OutputProblem = 'missing' | 'outside' | 'empty' | 'too_many_files' | 'too_large' | 'file_too_large';

/** A directory of its own for one attempt at a deployment. */
export interface Workspace {
  readonly isolation: IsolationLevel;
  /** Why it is that level. */
  readonly reason: string;
  /** Whether commands without network really have none. */
  readonly enforcesNetwork: boolean;
  /** Writes the files of a commit. @returns links whose target is not inside, which were left out */
  write(files: AsyncIterable<WorkspaceFile>): Promise<string[]>;
  /** A package cache of the project for a key such as the hash of a lock file; kept from one deployment to the next. */
  cache(key: string): Promise<string>;
  run(command: Command): Promise<CommandEnd>;
  /** What a directory, relative to the tree, holds to be published. */
  output(directory: string): Promise<Output | { problem: OutputProblem; detail: string }>;
  /** Ends every process that may still work in it, and removes it. */
  remove(): Promise<void>;
}

/** Where repository code runs; the only part that starts it. */
export interface Deployer {
  /** The level builds get here and why; or why they may not run, with what to do about it. */
  isolation(): Promise<{ level: IsolationLevel; reason: string } | { refused: string }>;
  /** This process. */
  self(): Promise<ProcessName>;
  /** `elsewhere`: of another machine or before its last start, so that this server cannot know. */
  standing(process: ProcessName): Promise<'alive' | 'gone' | 'elsewhere'>;
  /** @param owner number of the deployment, and the uuid of its project, whose caches it shares */
  open(owner: { deployment: number; project: string }): Promise<Workspace>;
  /** Ends what an earlier attempt left running, the group of `leader` included, and removes its workspace. */
  clear(deployment: number, leader: ProcessName | null): Promise<void>;
  /** Deployments that have a workspace here. */
  workspaces(): Promise<number[]>;
  /** Leaves no empty directories behind; nothing may run any more. */
  close(): Promise<void>;
}
