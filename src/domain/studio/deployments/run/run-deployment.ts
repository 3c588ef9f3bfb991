import { createHash } from 'node:crypto';
import { DomainError } from '../../../../kernel/errors.ts';
import type { Services } from '../../../../kernel/services.ts';
import { asUnavailable } from '../../../../kernel/unavailable.ts';
import { finish, finishYielding } from '../../../../lib/concurrency.ts';
import { encodingsOf } from '../../../../lib/redaction/encodings.ts';
import { Replacer } from '../../../../lib/redaction/replacer.ts';
import type { CommandEnd, CommandLimit, ProcessName, WorkspaceFile } from '../../../../ports/deployer.ts';
import type { Oid, TreeFile } from '../../../../ports/git-records.ts';
import { loadProject } from '../../../projects/project-ref.ts';
import { isDraftPreview } from '../../environments/draft-previews.ts';
import { Environment } from '../../environments/environment.entity.ts';
import { openVariables } from '../../environments/environment-secrets.ts';
import { pathProblem } from '../../path-rules.ts';
import { environmentLabel, labelUrl } from '../../previews/previews.ts';
import { largestPointer, readLfsPointer } from '../../repository/lfs-pointer.ts';
import { siteRootOf } from '../../routes/entry-routes.ts';
import type { Warning } from '../../schema/schema.schema.ts';
import type { StudioServices } from '../../studio.ts';
import {
  type Deployment,
  DeploymentJob,
  type DeploymentSettings,
  type FailureReason,
  type Worker,
} from '../deployment.entity.ts';
import type { Mask } from '../job-log.ts';
import { addJobs } from '../queue-deployment.ts';
import { type Attempt, conclude, publish, requeue } from '../transitions.ts';
import type { StopReason } from './building.ts';
import { JobRun, keepWarnings, notice } from './job-run.ts';
import { keepOutput } from './publish-output.ts';
import { treeWork } from './publish-tree.ts';
import { type Run, type Stage, StageFailure, type Work, type WorkspaceRun } from './stage.ts';

const limits: Record<Exclude<CommandLimit, 'aborted'>, [FailureReason, string]> = {
  timeout: ['timeout', 'took longer than the environment allows (timeout_seconds)'],
  memory: ['out_of_memory', 'took more than 2 GiB of memory'],
  unexplained: [
    'out_of_memory',
    'ran while more than 2.25 GiB of memory was filled with files that no process of the machine has open, which ends each build that may have ' +
      'done so; where other software did, start the deployment again',
  ],
  processes: ['exit_code', 'started more than 512 processes'],
  descriptors: ['exit_code', 'held more than 65,536 files open at once'],
  workspace: ['output_too_large', 'wrote more than 4 GiB'],
  files: ['output_too_large', 'made more than 1,000,000 files'],
  unmeasured: [
    'exit_code',
    'kept its files from being measured, by a directory that is closed to its owner (chmod u+rx opens it) or directories that move all the time',
  ],
  hidden: [
    'exit_code',
    'ran a process whose open files cannot be counted, since it hides them, such as ssh-agent (prctl, PR_SET_DUMPABLE)',
  ],
};

function failureOf(text: string, { exit_code, signal, limit }: CommandEnd): StageFailure | null {
  if (limit !== null && limit !== 'aborted') {
    const [reason, problem] = limits[limit];
    return new StageFailure(reason, `Ended: "${text}" ${problem}`);
  }
  if (exit_code === 0) return null;
  const how = exit_code === null ? `was ended by ${signal}` : `failed with exit code ${exit_code}`;
  return new StageFailure('exit_code', `"${text}" ${how}`);
}

interface CommandRequest {
  text: string;
  variables: Record<string, string>;
  network: boolean;
  cache?: string;
}

async function runCommand(run: WorkspaceRun, job: JobRun, { text, ...options }: CommandRequest): Promise<void> {
  const { row, workspace, deadline, signal, onCommand } = run;
  const shown = text.length > 200 ? `${text.slice(0, 199)}…` : text;
  await job.step(shown, async (step) => {
    job.log.line(`$ ${text}`);
    const output = job.log.reader();
    const end = await workspace.run({
      ...options,
      text,
      directory: row.settings.root_directory,
      time: Math.max(deadline - performance.now(), 1),
      signal,
      onOutput: output.read,
      onStart: onCommand,
    });
    output.end();
    step.exit_code = end.exit_code;
    signal.throwIfAborted();
    const failure = failureOf(shown, end);
    if (failure) throw failure;
  });
}

const lockFiles =
  /^(package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|yarn\.lock|bun\.lockb?|package\.json|Gemfile\.lock|Gemfile|uv\.lock|poetry\.lock|requirements\.txt)$/;

/**
 * Names the packages of a commit by the lock files beside its manifest: the same files, the same cache. Draft previews have caches of their own:
 * what a draft runs could otherwise leave packages that the next build of production, with its secrets, would run.
 */
async function cacheKey({ git, row, environment }: WorkspaceRun): Promise<string> {
  const snapshot = await git.snapshot(row.commit_sha);
  const hash = createHash('sha256');
  if (environment.isDraftPreview) hash.update('draft previews\n');
  for (const directory of new Set(['', row.settings.root_directory])) {
    for (const { name, oid } of await snapshot.directory(directory)) {
      if (lockFiles.test(name)) hash.update(`${directory}/${name}:${oid}\n`);
    }
  }
  return hash.digest('hex').slice(0, 32);
}

/** Variables of the environment that a stage gets. */
const given = ({ variables }: WorkspaceRun, inInstall: boolean) =>
  Object.fromEntries(
    variables
      .filter(({ available_in_install }) => available_in_install || !inInstall)
      .map(({ name, value }) => [name, value]),
  );

const about = ({ row, environment }: WorkspaceRun) => ({
  PORTICO_ENVIRONMENT: environment.name,
  PORTICO_BRANCH: row.branch,
  PORTICO_COMMIT_SHA: row.commit_sha,
  PORTICO_URL: environment.url,
});

/** Installs the packages of the site, with a cache that only its project has. */
export const install: Stage = async (run, job) => {
  const { install_command: text, network } = run.row.settings;
  if (!text) return job.log.line('Nothing to install');
  const cache = await run.workspace.cache(await cacheKey(run));
  const variables = { CI: 'true', ...given(run, true), ...about(run) };
  await runCommand(run, job, { text, variables, network: network !== 'none', cache });
};

/** Builds the site. */
export const build: Stage = async (run, job) => {
  const { build_command: text, network } = run.row.settings;
  if (!text) throw new StageFailure('exit_code', 'The environment has no build_command');
  const variables = { CI: 'true', NODE_ENV: 'production', ...given(run, false), ...about(run) };
  await runCommand(run, job, { text, variables, network: network === 'full' });
};

/** Shorter values would mask half of a log and hide nothing. */
const shortest = 4;
const replacement = '********';

function* formsOf(secret: string): Generator<string> {
  yield* encodingsOf(secret);
  const lines = secret.split(/\r?\n/).filter((line) => line.trim().length >= shortest * 2);
  if (lines.length > 1) yield* lines;
}

/** Takes the values of secrets out of a text: as they are, in base64, URLs and JSON, and each line of those with several. */
export async function masker(secrets: readonly string[]): Promise<Mask> {
  const replacer = await finishYielding(
    Replacer.of(function* () {
      for (const secret of secrets) {
        if (secret.length < shortest) continue;
        for (const form of formsOf(secret)) if (form.length >= shortest) yield [form, replacement];
      }
    }),
  );
  return Object.assign((text: string) => finish(replacer.replace(text)), { longest: replacer.longest });
}

const mostFiles = 200_000;
const mostBytes = 4 * 1024 ** 3;

const kinds: Record<string, WorkspaceFile['kind']> = { '100644': 'file', '100755': 'executable', '120000': 'link' };

async function checkSizes({ git }: Pick<Run, 'git'>, files: readonly TreeFile[]): Promise<number> {
  if (files.length > mostFiles)
    throw new StageFailure('output_too_large', `The commit has more than ${mostFiles} files`);
  const sizes = await git.sizes(files.map(({ oid }) => oid));
  const total = sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
  if (total > mostBytes) throw new StageFailure('output_too_large', `The commit has more than ${mostBytes} bytes`);
  return total;
}

/** Writes the tree of the commit as its objects are: no filter, attribute or hook of git has a part in it. */
const prepare: Stage = async (run, job) => {
  const { git, row, workspace, signal } = run;
  await job.step(`Write the files of ${row.commit_sha.slice(0, 7)}`, async () => {
    const snapshot = await git.snapshot(row.commit_sha);
    const all = await snapshot.files();
    const files = all.filter(({ mode, path }) => kinds[mode] !== undefined && pathProblem(path) === null);
    const bytes = await checkSizes(run, files);
    const pointers: string[] = [];
    async function* contents(): AsyncGenerator<WorkspaceFile> {
      let index = 0;
      for await (const { content } of snapshot.blobs(files.map(({ oid }) => oid))) {
        signal.throwIfAborted();
        const file = files[index++] as TreeFile;
        if (content.length <= largestPointer && readLfsPointer(content)) pointers.push(file.path);
        yield { path: file.path, kind: kinds[file.mode] ?? 'file', content };
      }
    }
    const leftOut = await workspace.write(contents());
    job.log.line(`${files.length} files, ${bytes} bytes of commit ${row.commit_sha} on ${row.branch}`);
    notice(run, job, 'link_left_out', 'Left out, because the link leads out of the repository', leftOut);
    const submodules = all.filter(({ mode }) => mode === '160000').map(({ path }) => path);
    notice(run, job, 'submodule_not_fetched', 'Submodules are not fetched', submodules);
    notice(run, job, 'lfs_pointer', 'Still Git LFS pointers', pointers);
  });
  const network = workspace.enforcesNetwork || row.settings.network === 'full' ? '' : ', not enforced at this level';
  job.log.line(`Isolation: ${workspace.isolation} (${workspace.reason}); network: ${row.settings.network}${network}`);
};

/** How often a worker shows that it lives, and looks whether its run is still wanted; milliseconds. */
const beatEvery = 1_000;

/**
 * Shows for as long as a run lasts that its worker lives, and reads what others decide about it.
 * @returns how to show a change of `worker` at once, and how to end it
 */
function keepAlive(
  { orm, log }: Pick<Services, 'orm' | 'log'>,
  { id, attempt }: Attempt,
  worker: Worker,
  stop: (reason: StopReason) => void,
): { beat(): Promise<void>; end(): void } {
  const beat = async () => {
    const [row] = await orm.em.fork().execute<{ is_over: boolean }[]>(
      `update deployment set heartbeat_at = now(), worker = ?::json
       where id = ? and attempt = ? and status = 'in_progress' returning cancel_requested
         or exists (select 1 from project where project.id = project_id and deleted_at is not null) as is_over`,
      [JSON.stringify(worker), id, attempt],
    );
    if (!row) stop('lost');
    else if (row.is_over) stop('cancelled');
  };
  const timer = setInterval(() => {
    beat().catch((err: unknown) => log.debug({ err, deployment: id }, 'heartbeat of a deployment not written'));
  }, beatEvery);
  return { beat, end: () => clearInterval(timer) };
}

const stages: Record<string, Stage> = { prepare, install, build };

/** Runs code of the repository in a workspace, and publishes what it leaves there. */
const workspaceWork = (run: WorkspaceRun): Work => ({
  stages: Object.fromEntries(Object.entries(stages).map(([name, stage]) => [name, (job) => stage(run, job)])),
  keep: (job) => keepOutput(run, job),
});

/** Why something that is not a stage's own failure ended it, in words for the log. */
function explain(error: unknown): { reason: FailureReason; message: string } {
  if (error instanceof StageFailure) return error;
  const known = asUnavailable(error);
  if (known instanceof DomainError && known.code === 'storage_full')
    return { reason: 'provider_error', message: 'The disk of the server is full' };
  if (error instanceof DomainError) return { reason: 'provider_error', message: error.message };
  return { reason: 'provider_error', message: 'The deployment could not go on: a fault of the server, see its log' };
}

/**
 * The jobs of an attempt, none begun: the ones made when it was queued, unless an earlier attempt may have used them.
 * @throws StageFailure when the attempt was given up: the jobs are another's then
 */
async function freshJobs({ orm }: Pick<Services, 'orm'>, row: Deployment): Promise<DeploymentJob[]> {
  return orm.em.fork().transactional(async (em) => {
    const sql = `select 1 from deployment where id = ? and attempt = ? and status = 'in_progress' for update`;
    const isOurs = (await em.execute<unknown[]>(sql, [row.id, row.attempt])).length > 0;
    if (!isOurs) throw new StageFailure('worker_lost', 'Another worker has taken the deployment over');
    const of = { deployment_id: row.id };
    const isUsed = (await em.count(DeploymentJob, { ...of, status: { $ne: 'queued' } })) > 0;
    if (isUsed || row.attempt > 1) await addJobs(em, row);
    return em.find(DeploymentJob, of, { orderBy: { position: 'asc' } });
  });
}

/** Says in the log of the first job why nothing was begun. */
async function refuse(services: StudioServices, row: Deployment, why: string): Promise<void> {
  const [first] = await freshJobs(services, row);
  if (!first) return;
  const job = new JobRun(services, first, (text) => text);
  await job.begin();
  job.log.line(why);
  await job.log.close();
}

/** Runs the jobs of an attempt, one after another. @returns the digest of what is to be published */
async function runJobs(run: Run, work: Work): Promise<{ digest: string; last: JobRun }> {
  const { services, row } = run;
  const jobs = await freshJobs(services, row);
  for (const record of jobs) {
    const job = new JobRun(services, record, run.mask);
    await job.begin();
    try {
      run.signal.throwIfAborted();
      const stage = work.stages[record.name];
      if (!stage) return { digest: await work.keep(job), last: job };
      await stage(job);
      await job.end('success');
    } catch (error) {
      if (run.signal.aborted) job.log.line(`Ended: ${String(run.signal.reason)}`);
      else job.log.line(explain(error).message);
      await job.log.close();
      throw error;
    }
  }
  throw new Error('a deployment ends with a job that publishes');
}

/**
 * The settings a deployment begins with, which are those it was queued with. A draft preview runs what an editor has written: it gets the variables
 * and the network that its environment has now, so that what drafts have lost meanwhile is in no build that begins later.
 */
const settingsAtBegin = ({ settings }: Deployment, environment: Environment): DeploymentSettings =>
  isDraftPreview(environment)
    ? { ...settings, variables: environment.variables, network: environment.network }
    : settings;

async function open(services: StudioServices, row: Deployment) {
  const em = services.orm.em.fork();
  const project = await loadProject(em, { id: row.project_id });
  const environment = await em.findOne(Environment, row.environment_id);
  if (!project || !environment) throw new StageFailure('provider_error', 'The environment has been deleted');
  const settings = settingsAtBegin(row, environment);
  const variables = await openVariables(services, project, environment.uuid, settings.variables);
  const url = labelUrl(services.settings, environmentLabel(environment));
  const about = { name: environment.name, url: environment.url ?? url, isDraftPreview: isDraftPreview(environment) };
  return { project, environment: about, settings, variables };
}

/** What the end of an attempt does to its row; `digest` is there when all went well. */
async function settle(
  services: StudioServices,
  row: Deployment,
  signal: AbortSignal,
  outcome: { digest: string; base: string } | { error: unknown },
): Promise<void> {
  const em = services.orm.em.fork();
  const at = services.clock.now();
  if ('digest' in outcome && (await publish(em, row, { ...outcome, at }))) {
    // Other processes are notified by the database; this one should not wait for that.
    services.studio.previews.targets.forget();
    return services.studio.building.encodings.add(services, outcome.digest);
  }
  const stopped: StopReason | null = signal.aborted ? signal.reason : 'digest' in outcome ? 'cancelled' : null;
  if (stopped === 'lost') return;
  if (stopped === 'stopping') return void (await requeue(em, row, row.attempt));
  if (stopped === 'cancelled') return void (await conclude(em, row, { conclusion: 'cancelled', at }));
  const { error } = outcome as { error: unknown };
  if (!(error instanceof StageFailure)) services.log.warn({ err: error, deployment: row.id }, 'deployment failed');
  await conclude(em, row, { conclusion: 'failure', reason: explain(error).reason, at });
}

/** How a build may be isolated: one of a draft preview never runs as the server's user, who can reach the secrets of all environments. */
async function isolationFor({ deployer }: Pick<Services, 'deployer'>, { isDraftPreview }: Run['environment']) {
  const found = await deployer.isolation();
  if ('refused' in found || found.level !== 'process' || !isDraftPreview) return found;
  const problem = 'they would run as the user of the server, who can reach all of its secrets';
  return {
    refused: `Builds of draft previews are refused: ${problem}. Isolation is no stronger here: ${found.reason}`,
  };
}

/** The path that the site's configuration puts it below; `''` where it cannot be read. */
async function basePathOf({ services, git, project, row }: Run): Promise<string> {
  try {
    const root = row.settings.root_directory || siteRootOf(project.settings);
    const { base } = await services.studio.routes.at(git, await git.snapshot(row.commit_sha as Oid), root);
    return base;
  } catch (err) {
    services.log.warn({ err, deployment: row.id }, 'the base of the site is not known');
    return '';
  }
}

interface AttemptContext {
  worker: Worker;
  signal: AbortSignal;
  beat(): Promise<void>;
  /** Publishes an output; clearing up afterwards happens in the background. */
  show(output: { digest: string; base: string }): Promise<void>;
}

async function attempt(
  services: StudioServices,
  queued: Deployment,
  { worker, signal, beat, show }: AttemptContext,
): Promise<void> {
  const { project, environment, settings, variables } = await open(services, queued);
  const row = { ...queued, settings };
  const isBuilt = settings.provider === 'build';
  const isolation = isBuilt ? await isolationFor(services, environment) : null;
  if (isolation && 'refused' in isolation) {
    await refuse(services, row, isolation.refused);
    const keep = 'update deployment set isolation_reason = ? where id = ? and attempt = ?';
    await services.orm.em.fork().execute(keep, [isolation.refused, row.id, row.attempt]);
    throw new StageFailure('isolation_unavailable', isolation.refused);
  }
  const warnings: Warning[] = [];
  const mask = await masker(variables.filter(({ secret }) => secret).map(({ value }) => value));
  const git = services.git.open(project.uuid);
  const deadline = performance.now() + settings.timeout_seconds * 1000;
  const onCommand = async (leader: ProcessName) => {
    worker.command = leader;
    await beat();
  };
  const about = { services, project, git, row, environment, variables, mask, warnings };
  const run: Run = { ...about, deadline, signal, onCommand };
  const finish = async (work: Work) => {
    const jobs = runJobs(run, work);
    const { digest, last } = await jobs.finally(() => keepWarnings(services, row, warnings));
    await last.log.close();
    await show({ digest, base: await basePathOf(run) });
  };
  if (!isBuilt) return finish(treeWork(run));
  const workspace = await services.deployer.open({ deployment: row.id, project: project.uuid });
  try {
    const values = [workspace.isolation, workspace.reason, row.id, row.attempt];
    const keep = 'update deployment set isolation = ?, isolation_reason = ? where id = ? and attempt = ?';
    await services.orm.em.fork().execute(keep, values);
    await finish(workspaceWork({ ...run, workspace }));
  } finally {
    await workspace.remove();
  }
}

/** Runs one attempt at a claimed deployment to its end, whatever that is. */
export async function runDeployment(services: StudioServices, row: Deployment, worker: Worker): Promise<void> {
  await services.studio.building.run(row.id, async (signal, stop) => {
    const { beat, end } = keepAlive(services, row, worker, stop);
    try {
      const show = (output: { digest: string; base: string }) => settle(services, row, signal, output);
      await attempt(services, row, { worker, signal, beat, show });
    } catch (error) {
      await settle(services, row, signal, { error });
    } finally {
      end();
    }
  });
}
