import { createHash } from 'node:crypto';
import type { CommandEnd, CommandLimit } from '../../../../ports/deployer.ts';
import type { FailureReason } from '../deployment.entity.ts';
import type { JobRun } from './job-run.ts';
import { type Stage, StageFailure, type WorkspaceRun } from './stage.ts';

const limits: Record<Exclude<CommandLimit, 'aborted'>, [FailureReason, string]> = {
  timeout: ['timeout', 'took longer than the environment allows (timeout_seconds)'],
  memory: ['out_of_memory', 'took more than 2 GiB of memory'],
  processes: ['exit_code', 'started more than 512 processes'],
  descriptors: ['exit_code', 'held more than 65,536 files open at once'],
  workspace: ['output_too_large', 'wrote more than 4 GiB'],
  files: ['output_too_large', 'made more than 1,000,000 files'],
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

/** Names the packages of a commit by the lock files beside its manifest: the same files, the same cache. */
async function cacheKey({ git, row }: WorkspaceRun): Promise<string> {
  const snapshot = await git.snapshot(row.commit_sha);
  const hash = createHash('sha256');
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
