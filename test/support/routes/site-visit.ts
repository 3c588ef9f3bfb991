/**
 * What a person does with a site of a framework, over REST alone: imports it by its URL, lists it, makes an entry with an image in a draft, looks at
 * the draft's preview, which the framework itself builds, renames the entry and looks again, and deletes it.
 */
import { execFile } from 'node:child_process';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { imageIn } from '../../../src/dashboard/lib/media.ts';
import { askHost } from '../preview.ts';
import { type RestClient, restClient } from '../rest-client.ts';
import type { EntryCourse } from './entry-courses.ts';
import { copyFiles, type FixtureSite } from './fixture-sites.ts';

const run = promisify(execFile);

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkM+D4DwACXwFP8m+KWAAAAABJRU5ErkJggg==';
const draft = 'draft/new';

/** Puts the files of a fixture site into a repository of their own, as their author would. @returns the name below `directory` */
export async function publishRepository(site: FixtureSite, root: string, directory: string): Promise<string> {
  const tree = path.join(directory, `${site.name}-tree`);
  await mkdir(tree, { recursive: true });
  await copyFiles(site, root, tree);
  const author = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org'];
  const git = (...args: string[]) => run('git', [...author, ...args], { cwd: tree, maxBuffer: 2 ** 24 });
  await git('init', '--quiet', '--initial-branch=main');
  await git('add', '--all', '--force');
  await git('commit', '--quiet', '--message=First');
  await git('clone', '--quiet', '--bare', '.', path.join(directory, `${site.name}.git`));
  await rm(tree, { recursive: true, force: true });
  return `${site.name}.git`;
}

/** The server that is visited, and where the site's repository is. */
export interface Visit {
  url: string;
  token: string;
  organization: string;
  repository: string;
  /** How long a deployment may take, milliseconds. */
  patience: number;
}

export const visitSteps = [
  'import',
  'list',
  'create with image',
  'preview',
  'rename',
  'preview renamed',
  'delete',
  'preview deleted',
] as const;
export type VisitStep = (typeof visitSteps)[number];

function expectThat(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Error(otherwise);
}

/** The least that one JSON value has of another. */
function expectFields(found: object, wanted: object, what: string): void {
  for (const [key, value] of Object.entries(wanted)) {
    const given = (found as Record<string, unknown>)[key];
    expectThat(
      JSON.stringify(given) === JSON.stringify(value),
      `${what}: ${key} is ${JSON.stringify(given)}, not ${JSON.stringify(value)}`,
    );
  }
}

class Visitor {
  readonly #visit: Visit;
  readonly #site: FixtureSite;
  readonly #course: EntryCourse;
  readonly #api: RestClient;
  readonly #studio: string;
  /** The environment of the draft, once it has one. */
  #preview = 0;
  #base = '';

  constructor(visit: Visit, site: FixtureSite, course: EntryCourse) {
    this.#visit = visit;
    this.#site = site;
    this.#course = course;
    this.#api = restClient(visit.url, visit.token);
    this.#studio = `/organizations/${visit.organization}/projects/${site.name}/studio`;
  }

  // biome-ignore lint/suspicious/noExplicitAny: answers are looked at field by field
  async #ask(method: string, below: string, body?: object): Promise<any> {
    const at = `${this.#studio}/${below}`;
    const answer = method === 'GET' ? await this.#api.get(at) : await this.#api.send(method, at, body ?? {});
    expectThat(
      answer.status < 300,
      `${method} ${below}: ${answer.status} ${JSON.stringify(answer.body)?.slice(0, 500)}`,
    );
    return answer.body;
  }

  /** Asks until there is an answer; what it waits for goes on by itself. */
  async #until<T>(what: string, ask: () => Promise<T | null>): Promise<T> {
    for (const began = Date.now(); Date.now() - began < this.#visit.patience; await delay(100)) {
      const found = await ask();
      if (found !== null) return found;
    }
    throw new Error(`${what} takes longer than ${this.#visit.patience / 1000} s`);
  }

  #entry = (slug: string) => `collections/${this.#course.collection}/${encodeURIComponent(slug)}?branch=${draft}`;

  readonly steps: Record<VisitStep, () => Promise<void>> = {
    import: async () => {
      const { organization, repository } = this.#visit;
      const { name } = this.#site;
      const project = { name, machine_name: name, import_url: repository };
      const made = await this.#api.send('POST', `/organizations/${organization}/projects`, project);
      expectThat(made.status === 201, `POST projects: ${made.status} ${JSON.stringify(made.body)}`);
      const ended = await this.#until('the import', async () => {
        const { import: state } = await this.#ask('GET', 'repository');
        return ['completed', 'failed'].includes(state?.state) ? state : null;
      });
      expectThat(ended.state === 'completed', `the import failed: ${ended.message}`);
      const detected = await this.#ask('POST', 'route-patterns/detect', { save: true });
      expectFields(detected.framework ?? {}, { id: this.#site.framework }, 'the framework');
      this.#base = detected.base;
    },
    list: async () => {
      const names = (await this.#ask('GET', 'collections')).map(({ name }: { name: string }) => name);
      expectThat(names.includes(this.#course.collection), `no collection ${this.#course.collection}, but ${names}`);
      const entries = await this.#ask('GET', `collections/${this.#course.collection}?per_page=100`);
      const withUrl = entries.filter(({ url }: { url?: string }) => url?.startsWith(`${this.#base}/`));
      expectThat(withUrl.length > 0, `none of ${entries.length} entries has a URL`);
    },
    'create with image': async () => {
      const { collection, image, published, body, created, as = created.slug } = this.#course;
      await this.#ask('POST', 'branches', { name: draft });
      const stored = await this.#ask('POST', 'media', { branch: draft, path: image, content: pixel });
      expectFields(stored, { path: image, public_path: published }, 'the image');
      const text = `${body}\n${await this.#inserted(stored)}\n`;
      const entry = { slug: as, frontmatter: { title: 'New' }, body: text, branch: draft };
      expectFields(await this.#ask('POST', `collections/${collection}`, entry), created, 'the entry');
    },
    preview: async () => {
      const settings = { name: 'Live', branch: 'main', auto_deploy: false, visibility: 'public' };
      const { id } = await this.#ask('POST', 'environments', settings);
      await this.#ask('PATCH', 'repository', { draft_preview: id });
      this.#preview = (await this.#ask('POST', 'draft-previews', { branch: draft })).id;
      await this.#seesPage(this.#course.created.url);
    },
    rename: async () => {
      const { created, renamed, to = renamed.slug } = this.#course;
      const { body, ...place } = renamed;
      expectFields(await this.#ask('PUT', this.#entry(created.slug), { slug: to }), place, 'the renamed entry');
      if (body === undefined) return;
      const { body: text } = await this.#ask('GET', this.#entry(renamed.slug));
      expectThat(text.startsWith(body), `the text of the renamed entry is ${JSON.stringify(text)}`);
    },
    'preview renamed': async () => {
      await this.#seesPage(this.#course.renamed.url);
      await this.#seesNothing(this.#course.created.url);
    },
    delete: async () => {
      const { image, renamed, moved } = this.#course;
      const { own_files = [] } = await this.#ask('GET', `${this.#entry(renamed.slug)}&include=own_files`);
      expectFields(
        { own: own_files.map((file: { path: string }) => file.path) },
        { own: moved === undefined ? [] : [moved] },
        'the files that go along',
      );
      if (moved === undefined) {
        const refused = await this.#api.send('DELETE', `${this.#studio}/media/${image}?branch=${draft}`, {});
        expectFields(refused.body, { code: 'in_use' }, 'deleting the image of the entry');
      }
      const deleted = await this.#ask('DELETE', `${this.#entry(renamed.slug)}&assets=true`);
      expectFields(deleted, { deleted: true, ...(moved !== undefined && { assets: [moved] }) }, 'what was deleted');
      if (moved === undefined) await this.#ask('DELETE', `media/${image}?branch=${draft}`);
    },
    'preview deleted': async () => {
      await this.#seesNothing(this.#course.renamed.url);
    },
  };

  /** What the dashboard puts into the text of the entry for a stored image. */
  async #inserted({ path: at, public_path, link }: { path: string; public_path?: string; link?: string }) {
    const { collection, created, inserted } = this.#course;
    const { asset_folders = false } = await this.#ask('GET', `schema/${collection}`);
    const text = imageIn(
      { path: created.path, assetFolders: asset_folders },
      { path: at, public_path: public_path ?? null, link: link ?? null },
      'Inserted',
    );
    expectThat(text === inserted, `the dashboard inserts ${text}, not ${inserted}`);
    return text;
  }

  /** Waits until the draft as it is now has been deployed. */
  async #deployed(): Promise<void> {
    const branches = await this.#ask('GET', `branches?q=${draft}`);
    const { commit: head } = branches.find(({ name }: { name: string }) => name === draft);
    const done = await this.#until('the deployment', async () => {
      const latest = await this.#ask('GET', `deployments/latest?environment=${this.#preview}`);
      return latest?.commit_sha === head && latest.status === 'completed' ? latest : null;
    });
    if (done.conclusion === 'success') return;
    const failed = done.jobs.find((job: { conclusion: string }) => job.conclusion !== 'success');
    const log = await fetch(this.#visit.url + new URL(failed.log_url).pathname, {
      headers: { authorization: `Bearer ${this.#visit.token}` },
    });
    throw new Error(`${failed.name} of the deployment: ${done.failure_reason}\n${(await log.text()).slice(-3000)}`);
  }

  /** One page of the preview, opened as a member does: by a link that gives a cookie. */
  async #open(target: string) {
    await this.#deployed();
    const link = new URL((await this.#ask('GET', `environments/${this.#preview}/preview?path=/`)).url);
    const opened = await askHost(Number(link.port), link.host, link.pathname + link.search);
    const cookie = [opened.headers['set-cookie'] ?? []]
      .flat()
      .map((one) => one.split(';')[0])
      .join('; ');
    const get = (at: string) => askHost(Number(link.port), link.host, at, { headers: { cookie } });
    const page = await get(target);
    const { location } = page.headers;
    // A directory's page, where the framework writes its address without a slash at the end.
    const at = page.status === 308 && location === `${target}/` ? location : target;
    return { get, at, page: at === target ? page : await get(at) };
  }

  async #seesPage(url: string): Promise<void> {
    const { page, at, get } = await this.#open(url);
    expectThat(page.status === 200, `${url} answers ${page.status}`);
    const images = [...page.text.matchAll(/<img\b[^>]*?\ssrc=(?:"([^"]*)"|'([^']*)'|([^\s>]+))/g)];
    const sources = images.map(([, a, b, c]) => a ?? b ?? c ?? '');
    expectThat(sources.length >= 2, `${url} shows ${sources.length} images: ${sources.join(', ')}`);
    for (const source of sources) {
      if (source.startsWith('data:image/')) continue;
      const { pathname, search } = new URL(source.replaceAll('&amp;', '&'), `http://site${at}`);
      const image = await get(pathname + search);
      const type = String(image.headers['content-type']);
      expectThat(image.status === 200 && type.startsWith('image/'), `${source} on ${url} answers ${image.status}`);
      // The preview also finds what lacks the base; the site itself does not.
      expectThat(pathname.startsWith(`${this.#base}/`), `${source} on ${url} lies outside of ${this.#base}/`);
    }
  }

  async #seesNothing(url: string): Promise<void> {
    const { page } = await this.#open(url);
    expectThat(page.status === 404, `${url} answers ${page.status}`);
  }
}

/** How far a visit came, and why no further. */
export interface Visited {
  done: VisitStep[];
  fault: string | null;
}

/** Does all steps in their order, up to the first that fails. */
export async function visitSite(visit: Visit, site: FixtureSite, course: EntryCourse): Promise<Visited> {
  const { steps } = new Visitor(visit, site, course);
  const done: VisitStep[] = [];
  for (const step of visitSteps) {
    try {
      await steps[step]();
    } catch (error) {
      return { done, fault: `${step}: ${(error as Error).message}` };
    }
    done.push(step);
  }
  return { done, fault: null };
}

/** What a server needs so that repositories on loopback, behind a certificate of its own, can be imported from, and sites be built. */
export async function visitSettings(directory: string, certificate: Buffer): Promise<Record<string, string>> {
  // Builds may run as another user, who has to reach them.
  await chmod(directory, 0o711);
  const caFile = path.join(directory, 'ca.pem');
  // Where this machine reaches the registry through a proxy with a certificate of its own, so do builds.
  const { NODE_EXTRA_CA_CERTS: roots } = process.env;
  await writeFile(caFile, (roots ? await readFile(roots, 'utf8') : '') + certificate);
  return {
    PORTICO_CA_FILE: caFile,
    PORTICO_ALLOWED_CIDRS: '127.0.0.0/8',
    PORTICO_BUILD_DIR: path.join(directory, 'builds'),
  };
}
