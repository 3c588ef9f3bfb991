import { setTimeout } from 'node:timers/promises';
import { DomainError } from '../../../kernel/errors.ts';
import type { Repository } from '../../../ports/git.ts';
import type { Oid } from '../../../ports/git-records.ts';
import type { PushMove, UpstreamPush } from '../../../ports/git-transfer.ts';
import type { ProjectRef } from '../../projects/project.entity.ts';
import type { Resolution, ResolutionPermission } from '../merge/merge.schema.ts';
import { writeMerge } from '../merge/write-merge.ts';
import { deleteWithPulls } from '../pulls/open-pulls.ts';
import { isProtected, movesByPulls } from '../repository/branch-rules.ts';
import type { StudioRuntime, StudioServices } from '../studio.ts';
import type { BranchProblem } from './upstream.entity.ts';

/** What bringing a branch in step needs. */
export interface Reconciliation {
  services: StudioServices;
  studio: StudioRuntime;
  project: ProjectRef;
  git: Repository;
  branch: string;
  /** The upstream's commit this branch was last in step with; null: the branch was never there. */
  synced: Oid | null;
  /** What was in the way after the last pass, that people have to settle; null: nothing. */
  standing: string | null;
  /** The upstream shows no branch at all, though it had some: it was made anew, or lost them. */
  isEmptied: boolean;
  author: { name: string; email: string };
  /** Whether commits may be pushed. */
  push: boolean;
  /** A person asks for it: what was rewritten or deleted there is merged or pushed again, and conflicts are settled. */
  resolutions: readonly Resolution[] | null;
  require: ((permission: ResolutionPermission) => void) | undefined;
  /** Called when the resolutions were needed and applied. */
  settled(): void;
  /** Called before what was fetched is taken. @throws DomainError when the upstream was removed or set anew */
  check(): Promise<void>;
  fetch(): Promise<void>;
  send(move: PushMove): Promise<UpstreamPush>;
}

export interface Reconciled {
  synced: Oid | null;
  pushed: boolean;
  problem: BranchProblem | null;
  /** What is in the way, or what happened that people should know. */
  message: string | null;
}

/** How often a push that came too late is tried again, after fetching and merging what came first. */
const rounds = 5;
const firstPause = 100;

const inStep = (synced: Oid | null, pushed = false): Reconciled => ({ synced, pushed, problem: null, message: null });

/**
 * Brings one branch in step with the same branch of the upstream: takes what came there, merges field by field, pushes what is only here.
 * No commit is ever lost: what cannot be merged stays on its branch and under a rescue ref, and a push replaces only what was left behind here.
 * @throws DomainError for accidents (`upstream_unavailable`, `busy` …); what the upstream itself refuses is an answer.
 */
export async function reconcileBranch(work: Reconciliation): Promise<Reconciled> {
  let { synced } = work;
  for (let round = 0; round < rounds; round += 1) {
    if (round > 0) {
      await setTimeout(firstPause * 2 ** round * (0.5 + Math.random()));
      await work.fetch();
    }
    const taken = await takeUpstream({ ...work, synced });
    if (taken.done) return taken.done;
    synced = taken.synced;
    if (!work.push) return { synced, pushed: false, problem: null, message: null };
    const answer = await work.send(taken.move);
    if (answer.outcome === 'ok') return inStep(taken.move.oid, true);
    if (answer.outcome === 'declined')
      return { synced, pushed: false, problem: 'refused', message: `The upstream refuses the push: ${answer.message}` };
    if (answer.outcome !== 'non_fast_forward')
      throw new DomainError('upstream_unavailable', pushFailures[answer.outcome], {
        details: { reason: answer.outcome },
      });
  }
  throw new DomainError('upstream_unavailable', `The upstream's branch ${work.branch} keeps moving`);
}

const pushFailures = {
  auth_failed: 'The upstream did not accept the sign-in',
  unreachable: 'The upstream could not be reached',
  timeout: 'The upstream took too long',
};

type Taken =
  | { done: Reconciled }
  /** All that is there is here; what is left is to be pushed. */
  | { done?: undefined; move: PushMove; synced: Oid | null };

async function takeUpstream(work: Reconciliation): Promise<Taken> {
  const { git, branch, synced } = work;
  await work.check();
  const [local, remote] = [await git.head(branch), await git.upstreamHead(branch)];
  if (local === remote) return { done: inStep(remote) };
  if (local === null) return takeMissingHere(work, remote);
  const isAnew = await isMadeAnew(work, local);
  if (remote === null) return isAnew ? { move: { branch, oid: local }, synced: null } : takeMissingThere(work, local);
  if (isAnew && !(await git.isAncestor(remote, local))) return takeMadeAnew(work, local, remote);
  const isRewritten = synced !== null && !(await git.isAncestor(synced, remote));
  if (isRewritten) return takeRewritten(work, local, remote, synced);
  return takeCommits(work, local, remote);
}

/** Not here: new there, or deleted here. Commits that came there since bring it back. */
async function takeMissingHere({ git, branch, synced }: Reconciliation, remote: Oid | null): Promise<Taken> {
  if (remote === null) return { done: inStep(null) };
  if (synced === remote) return { move: { branch, oid: null, expected: remote }, synced };
  await git.createBranch(branch, remote);
  return { done: inStep(remote) };
}

/**
 * Whether a branch lacks what it was last in step with: it was deleted here and is another one under the old name, or was moved by force. The
 * default branch cannot be deleted, so one that was set back is brought forward again.
 */
async function isMadeAnew({ git, branch, synced }: Reconciliation, local: Oid): Promise<boolean> {
  if (synced === null || (await git.isAncestor(synced, local))) return false;
  return branch !== (await git.defaultBranch());
}

/** It replaces the one that was left behind here; when that went on there, or nothing may replace it, people decide. */
async function takeMadeAnew(work: Reconciliation, local: Oid, remote: Oid): Promise<Taken> {
  const { git, project, branch, synced, resolutions } = work;
  if (remote === synced && !isProtected(project, branch)) {
    if (work.push && !(await git.isReachable(remote))) await git.rescue(branch, remote);
    return { move: { branch, oid: local, expected: remote }, synced };
  }
  if (resolutions) return takeCommits(work, local, remote);
  return diverged(work, local, 'The branch was made anew here, and the upstream has commits of the one before');
}

const emptied =
  'The upstream has lost all its branches, so none is deleted here; sync the branch by its name to push it again';

/** Not there: new here, or deleted there. Then it goes here too, unless that would lose commits; what nothing else has is rescued. */
async function takeMissingThere(work: Reconciliation, local: Oid): Promise<Taken> {
  const { git, services, project, branch, synced, standing, resolutions } = work;
  if (synced === null || resolutions) return { move: { branch, oid: local }, synced };
  const stays = (message: string): Taken => ({ done: { ...inStep(synced), problem: 'diverged', message } });
  if (work.isEmptied) return stays(emptied);
  const isPushed = await git.isAncestor(local, synced);
  if (!isPushed) return diverged(work, local, 'The upstream deleted the branch, which has commits here it never had');
  if (branch === (await git.defaultBranch())) return stays('The upstream deleted the default branch');
  // Once one branch was pushed there again, the upstream is not empty any more.
  if (standing !== null) return stays(standing);
  const kept = await git.rescue(branch, local);
  await deleteWithPulls({ em: services.orm.em.fork(), services, git, project }, branch, local);
  if (await git.isReachable(local)) await git.updateRefs([{ name: kept, from: local, to: null }]);
  return { done: inStep(null) };
}

/** The history there was rewritten. A branch without commits of its own follows; another one waits for a person. */
async function takeRewritten(work: Reconciliation, local: Oid, remote: Oid, synced: Oid): Promise<Taken> {
  const { git, branch, resolutions } = work;
  if (await git.isAncestor(local, synced)) {
    await git.rescue(branch, local);
    await git.resetBranch(branch, { from: local, to: remote });
    return {
      done: { ...inStep(remote), message: `The upstream rewrote the history of the branch; ${local} is kept here` },
    };
  }
  if (resolutions) return takeCommits(work, local, remote);
  return diverged(work, local, 'The upstream rewrote the history of the branch, which has commits here it never had');
}

/** Fast-forwards, or merges, field by field; what is here already is not taken again. */
async function takeCommits(work: Reconciliation, local: Oid, remote: Oid): Promise<Taken> {
  const { git, studio, project, branch, author, resolutions } = work;
  if (await git.isAncestor(remote, local)) return { move: { branch, oid: local }, synced: remote };
  // What comes from the upstream is its own matter; what settles a conflict is written here.
  const settles = resolutions !== null && resolutions.length > 0;
  if (settles && movesByPulls(project, branch)) work.require?.('manage_studio');
  const context = { git, studio, project };
  try {
    await writeMerge(context, {
      base: branch,
      head: { oid: remote },
      strategy: 'merge',
      fast_forward: true,
      author,
      message: `Merge branch '${branch}' of the upstream`,
      resolutions: resolutions ?? [],
      ...(work.require && { require: work.require }),
      ...(settles && { publish: { context: async () => context, toleratesHead: true } }),
      async check({ current }) {
        // The turn of this merge may come when the upstream is another one, or the branch.
        await work.check();
        if (await git.isAncestor(local, current)) return { pinned: false };
        throw new DomainError('branch_moved', `${branch} was made anew meanwhile; try again`);
      },
    });
  } catch (error) {
    if (!(error instanceof DomainError) || !['merge_conflict', 'no_common_ancestor'].includes(error.code)) throw error;
    if (settles) throw error;
    return diverged(work, local, `The upstream's commits cannot be merged: ${error.message}`);
  }
  const merged = await git.head(branch);
  if (merged !== remote) work.settled();
  if (merged === null || merged === remote) return { done: inStep(remote) };
  return { move: { branch, oid: merged }, synced: remote };
}

async function diverged({ git, branch, synced }: Reconciliation, local: Oid, message: string): Promise<Taken> {
  await git.rescue(branch, local);
  return { done: { synced, pushed: false, problem: 'diverged', message } };
}
