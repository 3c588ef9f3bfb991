import DataLoader from 'dataloader';
import { inPieces, KeyedSemaphore } from '../../../lib/concurrency.ts';
import type { Repository } from '../../../ports/git.ts';
import type { FileSide, Snapshot, TreeEntry } from '../../../ports/git-records.ts';
import type { Change, CommitPlan, Committed, StagedTree } from '../../../ports/git-writes.ts';
import { codeProblem } from '../content/admission.ts';
import { schemaAt } from '../content/collection-index.ts';
import { changeSite, type SiteIndex } from '../content/site-index.ts';
import { writeAhead } from '../in-turn.ts';
import { type MediaReference, mediaReferences } from '../media/media-references.ts';
import { entryRoutes } from '../routes/entry-routes.ts';
import type { Warning } from '../schema/schema.schema.ts';
import type { StudioContext } from '../studio.ts';
import { messageOf } from './write-rules.ts';

/** What the plan of a step needs to know of the call. */
export type PlanContext = Pick<
  StudioContext<'manage_studio'>,
  'git' | 'services' | 'studio' | 'project' | 'conditions' | 'require'
>;

/** Contents up to this size wait in memory for their commit, and so much of them in all; bytes. */
const longestInMemory = 1024 * 1024;
const mostInMemory = 64 * 1024 * 1024;

/**
 * The contents that one commit writes. A few wait in memory; all others are stored ahead, as uploads are, or a commit of a thousand long entries
 * would hold gigabytes. What is stored for a commit that is refused is dropped by the upkeep of the repository.
 */
export class PlannedContents {
  readonly #git: Pick<Repository, 'storeBlob'>;
  readonly #reads = new KeyedSemaphore();
  #inMemory = 0;

  constructor(git: Pick<Repository, 'storeBlob'>) {
    this.#git = git;
  }

  /** @returns what a change names: the content, or where it is stored */
  async keep(content: Buffer): Promise<NonNullable<Change['content']>> {
    const size = content.length;
    if (size <= longestInMemory && this.#inMemory + size <= mostInMemory) {
      this.#inMemory += size;
      return content;
    }
    const { oid } = await this.#git.storeBlob({ size, read: () => inPieces(content) }, size);
    return { oid };
  }

  /** Does what reads long texts after all other such work for the same commit. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    return this.#reads.run('', work);
  }
}

/** Reads a content that waits in memory, or is stored. */
export const bytesOf = async (tree: Snapshot, content: NonNullable<Change['content']>): Promise<Buffer> =>
  Buffer.isBuffer(content) ? content : tree.blob(content.oid);

/** A branch while a commit of one or more steps is planned. */
export interface StagedContent {
  /** What the branch holds: the only versions a caller can have seen. */
  head: StagedTree;
  /** The head with the steps so far laid over it. */
  tree: StagedTree;
  /** The entries of `tree`; its schemas are the head's, by which all steps are judged. */
  site: SiteIndex;
  /** Paths the steps so far have changed. */
  changed: ReadonlySet<string>;
  /** Keeps what the steps write. */
  contents: PlannedContents;
  /** Entries of `tree` that name a media file; for several files every entry is read once. */
  mediaReferences(file: string): Promise<MediaReference[]>;
}

/** One operation on entries or media as changes of files. */
export interface Step<T> {
  changes: Change[];
  /** What it does, as the subject of a commit message. */
  summary: string;
  result: T;
  /**
   * Holds what the step did against the state that all steps of its commit leave behind. A step that is alone is given the state it began
   * with, since it knows itself what it changes.
   * @throws DomainError when that state must not be
   */
  check(after: StagedContent): Promise<Warning[]>;
}

/**
 * Plans a step on staged content. Some files are code although a collection has them.
 * @throws DomainError `forbidden` without manage_studio for a step that changes such a file, and what `plan` throws
 */
export async function planStep<T>(
  context: Pick<PlanContext, 'require'>,
  staged: StagedContent,
  plan: (staged: StagedContent) => Promise<Step<T>>,
): Promise<Step<T>> {
  const step = await plan(staged);
  const isCode = ({ path }: Change) => codeProblem(staged.site, path, schemaAt(staged.site, path)) !== null;
  if (step.changes.some(isCode)) context.require('manage_studio');
  return step;
}

/** What steps of one commit leave at each path. */
export function lastOfEachPath(steps: readonly Step<unknown>[]): Change[] {
  const changes = steps.flatMap((step) => step.changes);
  return [...new Map(changes.map((change) => [change.path, change])).values()];
}

/** The content of a branch before the first step. */
export async function contentAt(
  context: Pick<PlanContext, 'git' | 'studio' | 'project'>,
  head: StagedTree,
): Promise<StagedContent> {
  const site = await context.studio.content.site(context.git, head);
  const contents = new PlannedContents(context.git);
  return { head, changed: new Set(), contents, ...contentOf(context, head, head, site) };
}

function contentOf(
  context: Pick<PlanContext, 'git' | 'studio' | 'project'>,
  head: StagedTree,
  tree: StagedTree,
  site: SiteIndex,
): Pick<StagedContent, 'tree' | 'site' | 'mediaReferences'> {
  const references = new DataLoader(async (files: readonly string[]) => {
    const { base } = await entryRoutes(context, head);
    return mediaReferences({ tree, site, base }, files);
  });
  return { tree, site, mediaReferences: (file) => references.load(file) };
}

/** The content after a step. */
export async function advance(
  context: Pick<PlanContext, 'git' | 'studio' | 'project'>,
  staged: StagedContent,
  changes: readonly Change[],
): Promise<StagedContent> {
  if (changes.length === 0) return staged;
  const tree = await staged.tree.with(changes);
  // What was empty has no schemas to judge by: those its first entries found are looked for.
  const site = staged.head.tree
    ? await changeSite(staged.site, await entriesAt(tree, changes))
    : await context.studio.content.site(context.git, tree);
  const changed = new Set([...staged.changed, ...changes.map(({ path }) => path)]);
  return { ...staged, changed, ...contentOf(context, staged.head, tree, site) };
}

/** What changes left at their paths: a listing of the whole tree would cost more than the step. */
async function entriesAt(tree: StagedTree, changes: readonly Change[]): Promise<Map<string, FileSide | null>> {
  const found = changes.map(async ({ path }) => [path, (await tree.lookup(path)).entry] as const);
  return new Map(await Promise.all(found));
}

/** The version of a file that a caller can have seen: where a step before has changed it, the head's. */
export async function publishedVersion(staged: StagedContent, path: string, current: TreeEntry): Promise<TreeEntry> {
  if (!staged.changed.has(path)) return current;
  return (await staged.head.lookup(path)).entry ?? current;
}

/** Where and as whom a commit is made. */
interface CommitTo {
  branch: string;
  author: { name: string; email: string };
  message: string | undefined;
  /** By `writeAhead`. */
  isLong?: boolean;
}

/** Commits one step alone. */
export function commitStep<T>(
  context: PlanContext,
  { branch, author, message, isLong = false }: CommitTo,
  plan: (staged: StagedContent, signal: AbortSignal) => Promise<Step<T>>,
): Promise<Committed<T & { warnings: Warning[] }>> {
  const request = {
    branch,
    author,
    async plan(head: StagedTree, signal: AbortSignal): Promise<CommitPlan<T & { warnings: Warning[] }>> {
      const staged = await contentAt(context, head);
      const { changes, summary, result, check } = await planStep(context, staged, (now) => plan(now, signal));
      const warnings = await check(staged);
      return { changes, message: messageOf(message, summary), result: { ...result, warnings } };
    },
  };
  return isLong ? writeAhead(context, request) : context.git.write(request);
}
