import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { workOnDeployments } from '../../src/domain/studio/deployments/run/work.ts';
import { startTestApp, studio, type TestApp } from './app.ts';

export interface DeployingApp {
  app: TestApp;
  /** Where its builds run. */
  buildDir: string;
  /** Does what waits, one after another, as a worker with one slot. */
  work(): Promise<void>;
  /** Makes an environment and does what it queues. @returns the environment */
  environment(draft: object): Promise<Environment>;
  latest(environment: number): Promise<Deployment>;
  /** The whole log of a job. */
  log(deployment: Deployment, job: string): Promise<string>;
  stop(): Promise<void>;
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
export type Environment = any;
// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
export type Deployment = any;

/** Does what waits, one after another, as a worker with one slot. */
export async function workOff({ services }: Pick<TestApp, 'services'>): Promise<void> {
  while ((await workOnDeployments(services)) !== null);
}

/** An application whose builds run in a directory of their own that other users can reach. */
export async function startDeployingApp(environment: Record<string, string> = {}): Promise<DeployingApp> {
  const buildDir = await mkdtemp(path.join(tmpdir(), 'portico-builds-'));
  // Builds may run as another user, who has to reach them.
  await chmod(buildDir, 0o711);
  const app = await startTestApp({ PORTICO_BUILD_DIR: path.join(buildDir, 'own'), ...environment });
  const work = () => workOff(app);
  return {
    app,
    buildDir,
    work,
    async environment(draft) {
      const { status, body } = await app.ask('POST', `${studio}/environments`, { body: draft });
      if (status !== 201) throw new Error(JSON.stringify(body));
      await work();
      return body;
    },
    async latest(id) {
      return (await app.ask('GET', `${studio}/deployments/latest?environment=${id}`)).body;
    },
    async log(deployment, name) {
      const job = deployment.jobs.find((one: { name: string }) => one.name === name);
      return (await app.ask('GET', new URL(job.log_url).pathname)).body;
    },
    async stop() {
      await app.stop();
      await rm(buildDir, { recursive: true, force: true });
    },
  };
}

/** A site without dependencies, built by a script. */
export const builtSite = (script: string) => ({
  'package.json': JSON.stringify({ name: 'site', private: true, scripts: { build: 'node build.mjs' } }),
  'package-lock.json': JSON.stringify({
    name: 'site',
    lockfileVersion: 3,
    requires: true,
    packages: { '': { name: 'site' } },
  }),
  'build.mjs': script,
});

/** Writes one page. */
export const plainBuild = `import { mkdirSync, writeFileSync } from 'node:fs';
mkdirSync('dist', { recursive: true });
writeFileSync('dist/index.html', '<h1>Built</h1>');
console.log('built one page');
`;

export const buildDraft = { build_command: 'node build.mjs', output_directory: 'dist', provider: 'build' };
