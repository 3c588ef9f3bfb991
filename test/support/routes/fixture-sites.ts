import { execFile } from 'node:child_process';
import { access, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** One of the small sites below `test/sites`, each with every feature of its framework that decides about addresses. */
export interface FixtureSite {
  name: string;
  /** The directory of its files, when another site has them, and a text of one of them that is another one here. */
  like?: { name: string; file: string; text: string; other: string };
  framework: string;
  /** The npm package of the framework, whose version the site pins; null: a program of the machine, which names its version itself. */
  package: string | null;
  /** The site's directory inside; `''` for the top. */
  root: string;
  /** Where its build goes, relative to `root`. */
  output: string;
  /** The program that builds it, with its arguments. */
  build: readonly [string, ...string[]];
}

/** @param build the program with its arguments */
const site = (
  name: string,
  [framework, npm, output]: readonly [string, string | null, string],
  ...build: [string, ...string[]]
): FixtureSite => ({ name, framework, package: npm, root: '', output, build });

const astro = (name: string, setting: string): FixtureSite => ({
  ...site(name, ['astro', 'astro', 'dist'], 'astro', 'build'),
  like: { name: 'astro', file: 'astro.config.mjs', text: "  trailingSlash: 'always',\n", other: setting },
});
const docusaurus: FixtureSite = {
  ...site('docusaurus', ['docusaurus', '@docusaurus/core', 'build'], 'docusaurus', 'build'),
  root: 'website',
};
const ofDocusaurus = (name: string, setting: string): FixtureSite => ({
  ...docusaurus,
  name,
  like: { name: 'docusaurus', file: 'website/docusaurus.config.js', text: "  title: 'Sample',\n", other: setting },
});

export const fixtureSites = {
  astro: site('astro', ['astro', 'astro', 'dist'], 'astro', 'build'),
  starlight: site('starlight', ['starlight', '@astrojs/starlight', 'dist'], 'astro', 'build'),
  'astro-file': astro('astro-file', "  build: { format: 'file' },\n  trailingSlash: 'never',\n"),
  'astro-preserve': astro('astro-preserve', "  build: { format: 'preserve' },\n"),
  'astro-never': astro('astro-never', "  trailingSlash: 'never',\n"),
  docusaurus,
  'docusaurus-slash': ofDocusaurus('docusaurus-slash', "  title: 'Sample',\n  trailingSlash: true,\n"),
  'docusaurus-no-slash': ofDocusaurus('docusaurus-no-slash', "  title: 'Sample',\n  trailingSlash: false,\n"),
  hugo: site('hugo', ['hugo', null, 'public'], 'hugo', '--quiet'),
  'hugo-layers': site('hugo-layers', ['hugo', null, 'public'], 'hugo', '--quiet'),
  hexo: site('hexo', ['hexo', 'hexo', 'public'], 'hexo', 'generate', '--silent'),
  eleventy: site('eleventy', ['eleventy', '@11ty/eleventy', 'www'], 'eleventy', '--quiet'),
  mkdocs: site('mkdocs', ['mkdocs', null, 'site'], 'mkdocs', 'build', '--quiet'),
  'nuxt-content': site('nuxt-content', ['nuxt_content', '@nuxt/content', '.output/public'], 'nuxt', 'generate'),
  jekyll: site('jekyll', ['jekyll', null, '_site'], 'jekyll', 'build', '--quiet'),
  vitepress: site('vitepress', ['vitepress', 'vitepress', '.vitepress/dist'], 'vitepress', 'build'),
} satisfies Record<string, FixtureSite>;

/** The directory of a fixture site's files. @param repository root of Portico's own repository */
export const sourceOf = ({ name, like }: FixtureSite, repository: string): string =>
  resolve(repository, 'test/sites', like?.name ?? name);

/** The version of the framework that builds a site: the one it pins, or that of the program of this machine. */
export async function versionOf(site: FixtureSite, repository: string): Promise<string | undefined> {
  const [program] = site.build;
  const directory = join(sourceOf(site, repository), site.root);
  if (site.package !== null)
    return JSON.parse(await readFile(join(directory, 'package.json'), 'utf8')).dependencies[site.package];
  const said = await runProgram(directory, program, program === 'hugo' ? 'version' : '--version');
  return /\d+(\.\d+)+/.exec(said)?.[0];
}

/** Copies the files of a fixture site into a directory, with the text that is another one here. */
export async function copyFiles(site: FixtureSite, repository: string, directory: string): Promise<void> {
  const isSource = (path: string) => !/\/(node_modules|\.astro|\.nuxt)$/.test(path);
  await cp(sourceOf(site, repository), directory, { recursive: true, filter: isSource });
  if (site.like === undefined) return;
  const { file, text, other } = site.like;
  const before = await readFile(join(directory, file), 'utf8');
  if (!before.includes(text)) throw new Error(`${file} has no ${JSON.stringify(text)}`);
  await writeFile(join(directory, file), before.replace(text, other));
}

/**
 * Runs one program to its end.
 * @returns what it wrote
 * @throws Error with its output when it fails, with its name when it is not there
 */
export async function runProgram(directory: string, program: string, ...args: string[]): Promise<string> {
  // npm's settings and certificates are those of the person who runs this.
  const plain = { CI: 'true', LANG: 'C.UTF-8', TZ: 'UTC', NO_COLOR: '1' };
  const noTelemetry = { ASTRO_TELEMETRY_DISABLED: '1', NUXT_TELEMETRY_DISABLED: '1', NO_UPDATE_NOTIFIER: '1' };
  const env: NodeJS.ProcessEnv = { ...process.env, ...plain, ...noTelemetry, NODE_ENV: 'production' };
  // A deployment has none of these of the test runner, which make drafts pages.
  for (const name of ['MODE', 'DEV', 'PROD', 'SSR', 'TEST', 'VITEST']) delete env[name];
  try {
    const { stdout } = await run(program, args, { cwd: directory, env, timeout: 300_000, maxBuffer: 2 ** 26 });
    return stdout;
  } catch (error) {
    const { code, stderr = '', stdout = '' } = error as { code?: string; stderr?: string; stdout?: string };
    if (code === 'ENOENT') throw new Error(`${program} is not installed on this machine`);
    throw new Error(`${program} ${args.join(' ')}: ${code}\n${stdout.slice(-2000)}\n${stderr.slice(-2000)}`);
  }
}

/** Their scripts are not run, and what npm has fetched before is not fetched again. */
const quietly = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];

/**
 * A copy of a fixture site that can be changed and built. The packages it names are installed in the directory above it, once for all copies.
 * @param home directory that keeps the packages
 */
export async function copySite(from: FixtureSite, repository: string, home: string): Promise<SiteCopy> {
  const source = sourceOf(from, repository);
  const above = join(home, from.like?.name ?? from.name);
  await mkdir(above, { recursive: true });
  if (from.package !== null && !(await exists(join(above, 'node_modules/.package-lock.json')))) {
    for (const name of ['package.json', 'package-lock.json'])
      await cp(join(source, from.root, name), join(above, name));
    await runProgram(above, 'npm', 'ci', '--include=dev', ...quietly);
  }
  const directory = await mkdtemp(join(above, 'copy-'));
  await copyFiles(from, repository, directory);
  const [program, ...args] = from.build;
  const root = join(directory, from.root);
  return {
    directory,
    output: join(root, from.output),
    remove: () => rm(directory, { recursive: true, force: true }),
    async build() {
      await runProgram(root, from.package === null ? program : join(above, 'node_modules/.bin', program), ...args);
    },
    version: () => versionOf(from, repository),
  };
}

export interface SiteCopy {
  /** Where the files of the repository lie. */
  directory: string;
  /** Where its build goes. */
  output: string;
  /** @throws Error what the generator has to say when it fails */
  build(): Promise<void>;
  /** Of the program that builds. */
  version(): Promise<string | undefined>;
  /** The packages stay, for the next copy. */
  remove(): Promise<void>;
}

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );
