import { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import { hasEnded } from '../../../kernel/run.ts';
import { findYielding, Pace } from '../../../lib/concurrency.ts';
import { normalized } from '../../../lib/text.ts';
import type { Oid } from '../../../ports/git-records.ts';
import type {
  IntroducedChange,
  PushCommand,
  PushedChange,
  PushedObjects,
  PushResult,
  PushVerdict,
} from '../../../ports/git-transfer.ts';
import { carriedProblem, findCarried } from '../compare/carried-content.ts';
import { isContent, isRegular, refusalOf } from '../content/admission.ts';
import { schemaAt } from '../content/collection-index.ts';
import type { SiteIndex } from '../content/site-index.ts';
import { checkTurn } from '../in-turn.ts';
import { keepPushedHeads } from '../pulls/open-pulls.ts';
import { newRefNameProblem, RefNames, shownRefName } from '../ref-name.ts';
import type { StudioContext } from '../studio.ts';
import { studioOperation } from '../studio-operation.ts';
import { isProtected } from './branch-rules.ts';

type Context = Pick<
  StudioContext<'delete_studio' | 'manage_studio'>,
  'grant' | 'project' | 'services' | 'studio' | 'git'
>;

const [heads, tags] = ['refs/heads/', 'refs/tags/'] as const;
/** Directories that the refs one push makes may be in. */
const mostDirectories = 10_000;
/** Commits that are there already and that new ones of a push stand on. */
const mostMerged = 1_000;
/** Changes that are looked at together. */
const atOnce = 256;

const branchOf = (ref: string) => (ref.startsWith(heads) ? ref.slice(heads.length) : null);
const shortName = (ref: string) => ref.replace(/^refs\/(?:heads|tags)\//, '');

/** Why a ref may not move as requested, whatever it would move to; null when it may. */
function refusalOfMove({ grant, project }: Context, { ref, new: to, forced }: PushCommand): string | null {
  const branch = branchOf(ref);
  const name = branch ?? ref;
  const guarded = branch !== null && isProtected(project, branch);
  if (guarded && project.settings.require_pull) return `${name} is protected; it moves by merging pull requests`;
  if (to === null) {
    if (guarded) return `${name} is protected and cannot be deleted`;
    return grant.permissions.has('delete_studio') ? null : `deleting ${name} needs the permission delete_studio`;
  }
  if (!forced) return null;
  if (guarded) return `${name} is protected and cannot be rewritten`;
  return grant.permissions.has('manage_studio') ? null : `rewriting ${name} needs the permission manage_studio`;
}

/**
 * The site a push is held against: what the branch holds now; the default branch for a new one, and for tags. What is pushed has no say, but
 * that a first entry founds its collection where there is nothing yet.
 *
 * @returns the site by which the file at a path is judged
 */
async function siteBefore(
  { git, studio }: Context,
  { ref, old }: PushCommand,
): Promise<(path: string) => SiteIndex | Promise<SiteIndex>> {
  const known = (branchOf(ref) === null ? null : old) ?? (await git.head(await git.defaultBranch()));
  const snapshot = await git.snapshot(known);
  const site = await studio.content.site(git, snapshot);
  if (snapshot.tree !== null) return () => site;
  return async (path) => (schemaAt(site, path) ? site : ((await studio.content.firstSiteAt(path)) ?? site));
}

/** What one change needs beside edit_studio, and why; null when nothing. */
async function needOf(
  { services }: Context,
  site: SiteIndex,
  { path, status, mode, was, oid }: PushedChange,
  { pushed, commit }: { pushed: PushedObjects; commit: Oid },
): Promise<{ permission: 'delete_studio' | 'manage_studio'; what: string } | null> {
  const manager = (problem: string) => ({ permission: 'manage_studio', what: `${path} ${problem}` }) as const;
  if (status === 'removed' || oid === null) {
    if (isContent(site, path, mode)) return { permission: 'delete_studio', what: `${path} is deleted` };
    return manager('is outside collections and media');
  }
  // An endpoint writes no links and leaves a file the mode it has.
  const isKept = mode === '100644' || (mode === '100755' && was === mode);
  if (!isKept || (was !== null && !isRegular(was))) return manager('is a link or gets another mode');
  // Endpoints write names as they compare them: two of other bytes could be one path to them.
  if (was === null && path.includes('\ufffd')) return manager('must be valid UTF-8');
  if (was === null && path !== normalized(path)) return manager("must be in Unicode's composed form (NFC)");
  const limit = services.settings.media_limit;
  const pace = new Pace();
  // Of an entry only the size counts.
  const blob = await pushed.blob(oid, schemaAt(site, path) ? 0 : limit);
  if (pace.isDue) await pace.yield();
  const refused = refusalOf(site, { path, ...blob }, limit);
  // What is stored under an unwise name can be edited under it.
  if (refused !== null && (was === null || refused.code !== 'invalid_name')) return manager(refused.problem);
  const rival = was === null ? await pushed.rival(commit, path) : null;
  return rival === null ? null : manager(`differs from ${rival} only in case or normalisation`);
}

/** Why commits of other branches may not come to this one; null when they may. */
async function refusalOfCarried(
  context: Context,
  { current, incoming }: { current: Oid; incoming: readonly Oid[] },
): Promise<string | null> {
  const others = incoming.filter((oid) => oid !== current);
  if (others.length === 0) return null;
  // A commit that is here already has a tree that can be read.
  const [only] = incoming.length === 1 ? incoming : [];
  const result = only === undefined ? undefined : () => context.git.snapshot(only);
  const path = await findCarried(context, { current, incoming: others, result });
  return path === null ? null : `${carriedProblem(path)}, which needs the permission manage_studio`;
}

async function refusalOfChanges(
  context: Context,
  command: PushCommand,
  commit: Oid,
  pushed: PushedObjects,
): Promise<string | null> {
  const { permissions } = context.grant;
  if (permissions.has('manage_studio') && permissions.has('delete_studio')) return null;
  const siteFor = await siteBefore(context, command);
  const footing = permissions.has('manage_studio') ? null : await pushed.footing(commit);
  if (footing && footing.known.length > mostMerged)
    return `one push may stand on ${mostMerged} commits without the permission manage_studio`;
  // What new commits add themselves is looked at with their changes.
  const met = footing && footing.known.length > 1 ? await pushed.newCollision(commit, footing.known) : null;
  if (met !== null)
    return `${met[0]} differs from ${met[1]} only in case or normalisation, which needs the permission manage_studio`;
  if (command.old !== null && footing) {
    const carried = await refusalOfCarried(context, { current: command.old, incoming: footing.known });
    if (carried !== null) return carried;
  }
  const bases = new Map<Oid, SiteIndex>();
  /** The site of the commit that a new one stands on, if it is another one than the branch has. */
  const baseSite = async (of: Oid) => {
    const base = footing?.baseOf(of) ?? null;
    if (base === null || base === command.old) return null;
    const site = bases.get(base) ?? (await context.studio.content.site(context.git, await context.git.snapshot(base)));
    bases.set(base, site);
    return site;
  };
  const firstRefused = async (changes: readonly IntroducedChange[]) => {
    const pace = new Pace();
    const needs: ReturnType<typeof needOf>[] = [];
    for (const change of changes) {
      if (pace.isDue) await pace.yield();
      const site = await siteFor(change.path);
      const base = await baseSite(change.commit);
      for (const judge of base ? [site, base] : [site]) {
        const need = needOf(context, judge, change, { pushed, commit });
        needs.push(need);
        // Media are read one after the other: each may be large.
        if (schemaAt(judge, change.path)) need.catch(() => {});
        else await need;
      }
    }
    const lacking = (await Promise.all(needs)).find((need) => need && !permissions.has(need.permission));
    return lacking ? `${lacking.what}, which needs the permission ${lacking.permission}` : null;
  };
  let changes: IntroducedChange[] = [];
  for await (const change of pushed.introduced(commit)) {
    if (permissions.has('manage_studio') && change.status !== 'removed') continue;
    changes.push(change);
    if (changes.length < atOnce) continue;
    const refused = await firstRefused(changes);
    if (refused !== null) return refused;
    changes = [];
  }
  return firstRefused(changes);
}

/** Why the objects may not come in, as other hosts and clients could refuse the history for good then; null when they may. */
async function refusalOfFaults({ grant }: Context, pushed: PushedObjects): Promise<string | null> {
  if (grant.permissions.has('manage_studio')) return null;
  const found = await pushed.faulty();
  if (found === null) return null;
  return `object ${found.oid} is malformed (${found.fault}); make it again with git itself, or push with the permission manage_studio`;
}

/** Why a push may not make objects visible that it names alone, as a branch begun at their ids could not either; null when it may. */
async function refusalOfHidden(
  { grant }: Context,
  commands: readonly PushCommand[],
  pushed: PushedObjects,
): Promise<string | null> {
  if (grant.permissions.has('manage_studio')) return null;
  const hidden = await pushed.hidden();
  if (hidden === null) return null;
  const led = commands.find(({ new: to }) => to === hidden);
  const what = led ? `${shortName(led.ref)} is to lead to` : 'the push names';
  return `${what} ${hidden}, which it does not bring and no branch, tag or pull request has: that needs the permission manage_studio`;
}

/** Why a branch may not hold a tag's object that leads to a commit; null when it is none. */
function refusalOfTag({ ref, new: to }: PushCommand, commit: Oid): string | null {
  if (branchOf(ref) === null || commit === to) return null;
  return `${shortName(ref)} is a branch and must hold a commit, not an annotated tag; push the commit: <tag>^{commit}:${ref}`;
}

const problemOf = (names: RefNames, name: string) => newRefNameProblem(name) ?? names.rivalry(name);

/** Holds the names of new refs against the rule for all that are made, and against each other. */
async function refusalOfNames({ git }: Context, commands: readonly PushCommand[]): Promise<string | null> {
  for (const prefix of [heads, tags]) {
    const made = commands.filter(({ ref, old, new: to }) => ref.startsWith(prefix) && old === null && to !== null);
    if (made.length === 0) continue;
    const gone = new Set(commands.filter(({ new: to }) => to === null).map(({ ref }) => ref));
    const there = (await git.refsBelow(prefix.slice(0, -1))).filter(({ name }) => !gone.has(name));
    const names = await RefNames.of(there.map(({ name }) => name.slice(prefix.length)));
    const before = names.directories;
    const misnamed = await findYielding(made, ({ ref }) => {
      const name = ref.slice(prefix.length);
      if (problemOf(names, name) !== null) return true;
      names.add(name);
      return names.directories - before > mostDirectories;
    });
    if (misnamed === undefined) continue;
    const name = misnamed.ref.slice(prefix.length);
    const problem = problemOf(names, name);
    return problem === null
      ? `one push may make refs in ${mostDirectories} directories; push fewer at a time`
      : `${shownRefName(name)} ${problem}`;
  }
  return null;
}

/**
 * Decides about a push: entries and media that the endpoints would take need edit_studio, deletions delete_studio too, all other files,
 * rewritten branches, links, objects with faults of old histories, and hidden ones that it does not bring, manage_studio; protected branches are neither deleted nor rewritten; tags
 * lead to commits, and what those bring is judged as that of branches. The whole push is refused for the first reason found.
 */
async function decidePush(
  context: Context,
  commands: readonly PushCommand[],
  pushed: PushedObjects,
): Promise<PushVerdict> {
  const other = commands.find(({ ref }) => !ref.startsWith(heads) && !ref.startsWith(tags));
  if (other) {
    const message = `${JSON.stringify(other.ref)} cannot be pushed; push branches (refs/heads/…) and tags (refs/tags/…)`;
    return { allow: false, message };
  }
  const misnamed = await refusalOfNames(context, commands);
  if (misnamed !== null) return { allow: false, message: misnamed };
  const hidden = await refusalOfHidden(context, commands, pushed);
  if (hidden !== null) return { allow: false, message: hidden };
  const judged = new Set<string>();
  for (const command of commands) {
    const refused = refusalOfMove(context, command);
    if (refused !== null) return { allow: false, message: refused };
    if (command.new === null) continue;
    const commit = await pushed.commitOf(command.new);
    if (commit === null) return { allow: false, message: `${shortName(command.ref)} must lead to a commit` };
    const tagged = refusalOfTag(command, commit);
    if (tagged !== null) return { allow: false, message: tagged };
    // Tags by the thousand lead to few commits, and all new refs are held against one site.
    const key = `${command.old} ${commit}`;
    const message = judged.has(key) ? null : await refusalOfChanges(context, command, commit, pushed);
    if (message !== null) return { allow: false, message };
    judged.add(key);
  }
  const faults = await refusalOfFaults(context, pushed);
  return faults === null ? { allow: true } : { allow: false, message: faults };
}

type PushContext = StudioContext<'delete_studio' | 'manage_studio'>;

/** What a push may need. */
const needs = {
  permission: 'edit_studio',
  also: {
    delete_studio: 'when it deletes entries, media or branches',
    manage_studio:
      'when it brings files outside collections and media, also such as were content where they were changed, or objects with faults of old histories, or rewrites a branch, or leads to what no visible ref has and it does not bring',
  },
} as const;

/** The rights and settings of a moment, or why there are no such rights any more. */
function unlessEnded(renewed: Promise<PushContext>): Promise<PushContext | DomainError> {
  return renewed.catch((error: unknown) => {
    if (error instanceof DomainError && hasEnded.has(error.code)) return error;
    throw error;
  });
}

/**
 * Decides once more when the turn of a push has come. What it brings was judged by rights that have to be there still; how its refs move is held
 * against the settings of now. Pull requests from branches it deletes keep what they propose, also those opened since.
 * @param before what it was decided by
 */
async function verdictInTurn(before: PushContext, commands: readonly PushCommand[]): Promise<PushVerdict> {
  const now = await unlessEnded(checkTurn(needs, before, null));
  if (now instanceof DomainError) return { allow: false, message: now.message };
  for (const command of commands) {
    const refused = refusalOfMove(now, command);
    if (refused !== null) return { allow: false, message: refused };
  }
  await keepPushedHeads(now, commands);
  return { allow: true };
}

const access = z.object({ repository: z.uuid() });

/** A git client's fetch or clone: what it needs is the right to read. */
export const fetchRepository = studioOperation({
  name: 'studio.fetchRepository',
  kind: 'query',
  permission: 'browse_studio',
  notInSteps: true,
  summary: 'Fetch or clone with a git client',
  input: z.object({}),
  output: access,
  execute: async ({ project }) => ({ repository: project.uuid }),
});

/** What a git client asks before a push: which refs are there. Nothing happens yet. */
export const preparePush = studioOperation({
  name: 'studio.preparePush',
  kind: 'query',
  permission: 'edit_studio',
  notInSteps: true,
  summary: 'Read the refs before a push with a git client',
  input: z.object({}),
  output: access,
  execute: async ({ project }) => ({ repository: project.uuid }),
});

const outcomes = ['ok', 'denied', 'failed'] as const;
const pushedRef = z.object({ ref: z.string(), new: z.string().nullable(), outcome: z.enum(outcomes) });
/** Of the whole push: `refused` when it was not to be, by the rules, a limit or git; `failed` when git then did not carry it out. */
const pushOutcomes = ['ok', 'refused', 'failed'] as const;

/** A git client's push, decided on when its objects have come in and before any ref moves. */
export const pushRepository = studioOperation({
  name: 'studio.pushRepository',
  kind: 'command',
  effect: 'external',
  ...needs,
  notInSteps: true,
  summary: 'Push with a git client',
  input: z.object({}),
  output: z.object({ refs: z.array(pushedRef), outcome: z.enum(pushOutcomes) }),
  audit: (_input, output, { project }) => {
    if (output === null) return { type: 'repository', id: project };
    return outcomes.flatMap((outcome) => {
      const refs = output.refs.filter((ref) => ref.outcome === outcome);
      const id = [project, ...refs.map(({ ref, new: to }) => `${ref}=${to ?? 'deleted'}`)].join(' ');
      return refs.length > 0 ? [{ type: 'repository', id, outcome }] : [];
    });
  },
  outcome: ({ outcome }) => outcome,
  async execute(context) {
    const { services, studio, project, pack, signal, log } = context;
    if (!pack) throw new DomainError('invalid_request', 'A push is made with a git client');
    let isAllowed: boolean | null = null;
    /** What it is decided by: rights and settings of when the push has come in, which can be long after it began. */
    let decisive: PushContext = context;
    let result: PushResult = { commands: [], moved: [] };
    const served = services.git.serve(project.uuid, {
      ...pack(),
      client: context.actor.id,
      service: 'git-receive-pack',
      advertise: false,
      signal,
      async authorizePush(commands, pushed) {
        const now = await unlessEnded(context.renewed());
        if (now instanceof DomainError) {
          isAllowed = false;
          return { allow: false, message: now.message };
        }
        decisive = now;
        const verdict = await decidePush(now, commands, pushed);
        isAllowed = verdict.allow;
        return verdict;
      },
      async confirmPush(commands) {
        const verdict = await verdictInTurn(decisive, commands);
        isAllowed = verdict.allow;
        return verdict;
      },
      settledPush(ended) {
        result = ended;
      },
    });
    // What has moved has moved, also when the client is gone before it reads so.
    await served.catch((error: unknown) => {
      if (result.moved.length === 0) throw error;
      log.warn({ err: error }, 'the answer to a push ended early');
    });
    const moved = new Set(result.moved.map(({ ref }) => ref));
    const refs = result.commands.map(({ ref, new: to }) => {
      const outcome = moved.has(ref) ? 'ok' : isAllowed === false ? 'denied' : 'failed';
      return { ref, new: to, outcome } as const;
    });
    const branches = [...moved].flatMap((ref) => branchOf(ref) ?? []);
    // The client has its answer; whether the upstream takes it too is a state of the branch.
    if (project.is_mirror && branches.length > 0) void studio.upstreams.publish(project, branches);
    const isDone = refs.every(({ outcome }) => outcome === 'ok');
    const undone = isAllowed ? 'failed' : 'refused';
    return { refs, outcome: isDone ? 'ok' : undone } as const;
  },
});
