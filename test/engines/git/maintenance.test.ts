import { mkdirSync, readdirSync, readFileSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { GitProcesses } from '../../../src/engines/git/git-process.ts';
import type { GitRepository } from '../../../src/engines/git/repository.ts';
import { backupRepository } from '../../../src/engines/git/upkeep/backup.ts';
import type { Repository } from '../../../src/ports/git.ts';
import { fsck, git, save, temporaryDirectory, testStore } from '../../support/git-store.ts';

async function fresh(id = 'site') {
  const made = testStore();
  const repository = await made.store.create(id, 'main');
  return { ...made, repository, gitDir: made.path(id) };
}

const packs = (gitDir: string) => readdirSync(join(gitDir, 'objects/pack')).filter((name) => name.endsWith('.pack'));
const loose = (gitDir: string) => Number(/^count: (\d+)/m.exec(git(gitDir, ['count-objects', '-v']))?.[1]);

describe('maintain', () => {
  it('packs an empty repository and one with few commits, again and again', async () => {
    const { store, repository, gitDir } = await fresh();
    await store.maintain('site', 'light');
    for (let round = 0; round < 3; round += 1) {
      for (let at = 0; at < 3; at += 1) await save(repository, { [`d${at}/f`]: `${round}` });
      expect(loose(gitDir)).toBeGreaterThan(0);
      await store.maintain('site', 'light');
      expect(loose(gitDir)).toBe(0);
      fsck(gitDir);
    }
    expect(git(gitDir, ['commit-graph', 'verify'])).toBe('');
    await store.maintain('site', 'full');
    expect(packs(gitDir)).toHaveLength(1);
    fsck(gitDir);
    await expect(store.maintain('nothing', 'light')).rejects.toMatchObject({ code: 'repository_unavailable' });
  });

  it('writes changed-path filters that later commits keep', async () => {
    const { store, repository, gitDir } = await fresh();
    const bloom = () => git(gitDir, ['-c', 'core.commitGraph=true', 'log', '-1', '--format=%H', 'main', '--', 'd1/f']);
    for (const level of ['full', 'light', 'light'] as const) {
      await save(repository, { 'd1/f': `${Math.random()}` });
      await store.maintain('site', level);
      expect(bloom()).toBe(await repository.head('main'));
    }
    const layers = readdirSync(join(gitDir, 'objects/info'), { recursive: true }).map(String);
    expect(layers.some((name) => name.includes('graph'))).toBe(true);
  });

  it('keeps readers and writers going', async () => {
    const { store, repository, gitDir } = await fresh();
    const files = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => [`d${at % 4}/f${at}`, 'x'.repeat(2000 + at)]),
    );
    const { snapshot } = await save(repository, files);
    const listed = await snapshot.files();
    let stop = false;
    let reads = 0;
    const shas: string[] = [];
    const reading = (async () => {
      while (!stop) {
        for await (const { content } of repository.blobs(listed.map(({ oid }) => oid)))
          reads += content.length > 0 ? 1 : 0;
        for (const { oid } of listed.slice(0, 5)) await snapshot.blob(oid);
      }
    })();
    const writing = (async () => {
      for (let at = 0; !stop; at += 1)
        shas.push((await save(repository, { [`w/${at % 9}`]: `${at}` })).commit?.sha ?? '');
    })();
    for (const level of ['light', 'full', 'light', 'full'] as const) await store.maintain('site', level);
    stop = true;
    await Promise.all([reading, writing]);
    expect(reads).toBeGreaterThan(0);
    const history = new Set(git(gitDir, ['rev-list', 'main']).split('\n'));
    for (const sha of shas) expect(history).toContain(sha);
    fsck(gitDir);
  });

  it('keeps young objects that nothing names, and removes what dead processes left', async () => {
    const { store, repository, gitDir } = await fresh();
    await save(repository, { a: '1' });
    const base = git(gitDir, ['hash-object', '-w', '--stdin'], 'an ETag names this');
    const old = git(gitDir, ['hash-object', '-w', '--stdin'], 'nobody knows this');
    const past = new Date(Date.now() - 15 * 24 * 3600_000);
    utimesSync(join(gitDir, 'objects', old.slice(0, 2), old.slice(2)), past, past);
    mkdirSync(join(gitDir, 'scratch-dead'));
    utimesSync(join(gitDir, 'scratch-dead'), past, past);
    mkdirSync(join(gitDir, 'scratch-alive'));
    await store.maintain('site', 'full');
    expect(await repository.sizes([base, old])).toEqual([18, null]);
    expect(readdirSync(gitDir).filter((name) => name.startsWith('scratch'))).toEqual(['scratch-alive']);
  });
});

describe('maintenanceDue', () => {
  it('finds quarantines of pushes whose processes died a day ago', async () => {
    const { store, gitDir } = await fresh();
    const place = join(gitDir, 'objects/tmp_objdir-incoming-dead');
    mkdirSync(join(place, 'pack'), { recursive: true });
    writeFileSync(join(place, 'pack/tmp_pack_1'), 'half');
    const age = (hours: number, ...paths: string[]) => {
      const then = new Date(Date.now() - hours * 3600_000);
      for (const path of paths) utimesSync(path, then, then);
    };
    age(25, place, join(place, 'pack'));
    expect(await store.maintenanceDue('site')).toBeNull();
    age(25, join(place, 'pack/tmp_pack_1'));
    expect(await store.maintenanceDue('site')).toBe('light');
    await store.maintain('site', 'light');
    expect(await store.maintenanceDue('site')).toBeNull();
  });

  it('goes by loose objects, packs, commits and the week', async () => {
    const { store, repository, gitDir } = await fresh();
    expect(await store.maintenanceDue('site')).toBeNull();
    for (const directory of ['17', '5a', 'a3', 'e8']) {
      mkdirSync(join(gitDir, 'objects', directory));
      for (let at = 0; at < 20; at += 1) writeFileSync(join(gitDir, 'objects', directory, `tmp_obj_${at}`), '');
    }
    expect(await store.maintenanceDue('site')).toBe('light');
    for (const directory of ['17', '5a', 'a3', 'e8'])
      for (let at = 0; at < 20; at += 1) unlinkSync(join(gitDir, 'objects', directory, `tmp_obj_${at}`));
    expect(await store.maintenanceDue('site')).toBeNull();
    await Promise.all(Array.from({ length: 500 }, (_, at) => save(repository, { same: `${at}` })));
    expect(await store.maintenanceDue('site')).toBe('light');
    await store.maintain('site', 'light');
    expect(await store.maintenanceDue('site')).toBeNull();
    const past = new Date(Date.now() - 8 * 24 * 3600_000);
    utimesSync(join(gitDir, 'config'), past, past);
    expect(await store.maintenanceDue('site')).toBe('full');
    await store.maintain('site', 'full');
    expect(await store.maintenanceDue('site')).toBeNull();
  });
});

describe('fsck', () => {
  it('finds what is missing, and nothing wrong with what is sound', async () => {
    const { store, repository, gitDir } = await fresh();
    expect(await store.fsck('site')).toEqual({ ok: true, problems: [] });
    const { snapshot } = await save(repository, { a: '1', b: '2' });
    expect(await store.fsck('site')).toEqual({ ok: true, problems: [] });
    const oid = (await snapshot.lookup('b')).entry?.oid ?? '';
    unlinkSync(join(gitDir, 'objects', oid.slice(0, 2), oid.slice(2)));
    const { ok, problems } = await store.fsck('site');
    expect(ok).toBe(false);
    expect(problems).toContain(`missing blob ${oid}`);
  });
});

/** Deletes a branch before git makes a bundle, and makes it again afterwards. */
class MovingBranch extends GitProcesses {
  readonly #repository: Repository;

  constructor(repository: Repository) {
    super(temporaryDirectory());
    this.#repository = repository;
  }

  override async runNow(...[args, options]: Parameters<GitProcesses['runNow']>) {
    const head = (await this.#repository.head('draft')) ?? '';
    if (args[0] === 'bundle') await this.#repository.deleteBranch('draft', head);
    const result = await super.runNow(args, options);
    if (args[0] === 'bundle') await this.#repository.createBranch('draft', head);
    return result;
  }
}

describe('backup and restore', () => {
  it('carry the refs of the moment at which the backup began, whatever moves until it is made', async () => {
    const { store, repository } = await fresh();
    const { commit } = await save(repository, { a: '1' });
    await repository.createBranch('draft', commit?.sha ?? '');
    const processes = new MovingBranch(repository);
    const target = temporaryDirectory();
    const { refs } = await backupRepository(
      processes,
      repository as GitRepository,
      target,
      new AbortController().signal,
    );
    await processes.close();
    expect(refs.map(({ name }) => name).sort()).toEqual(['refs/heads/draft', 'refs/heads/main']);
    const restored = await store.restore('copy', target);
    expect(await restored.head('draft')).toBe(commit?.sha);
  });

  it('carry every ref while writers go on', async () => {
    const { store, repository, gitDir, path } = await fresh();
    const first = await save(repository, { a: '1' });
    await repository.createBranch('deep/grün', first.commit?.sha ?? '');
    await repository.updateRefs([
      { name: 'refs/pull/1/head', to: first.commit?.sha ?? '' },
      { name: 'refs/portico/rescue/main/x', to: first.commit?.sha ?? '' },
    ]);
    git(gitDir, ['tag', '-a', 'v1', '-m', 'one', 'main']);
    const target = join(temporaryDirectory(), 'new/backup');
    let stop = false;
    const writing = (async () => {
      for (let at = 0; !stop; at += 1) await save(repository, { b: `${at}` });
    })();
    const before = await repository.head('main');
    const { bytes, refs } = await store.backup('site', target);
    stop = true;
    await writing;
    expect(refs.map(({ name }) => name).sort()).toEqual([
      'refs/heads/deep/grün',
      'refs/heads/main',
      'refs/portico/rescue/main/x',
      'refs/pull/1/head',
      'refs/tags/v1',
    ]);
    expect(refs.find(({ name }) => name === 'refs/pull/1/head')?.oid).toBe(first.commit?.sha);
    expect(bytes).toBeGreaterThan(100);
    // A second one takes the place of the first.
    await store.backup('site', target);
    const bundle = expect.stringMatching(/^repository-.+\.bundle$/);
    expect(readdirSync(target).sort()).toEqual([bundle, 'repository.json']);
    const restored = await store.restore('copy', target);
    expect(await restored.defaultBranch()).toBe('main');
    const head = await restored.head('main');
    expect(await repository.isAncestor(before ?? '', head ?? '')).toBe(true);
    expect(await repository.isAncestor(head ?? '', (await repository.head('main')) ?? '')).toBe(true);
    const others = (gitDir: string) =>
      git(gitDir, ['for-each-ref'])
        .split('\n')
        .filter((line) => !line.includes('refs/heads/main'));
    expect(others(path('copy'))).toEqual(others(gitDir));
    expect((await save(restored, { c: '1' })).commit?.parents).toEqual([head]);
    fsck(path('copy'));
    await expect(store.restore('copy', target)).rejects.toMatchObject({ code: 'already_exists' });
  });

  it('know an empty repository, and refuse what is no sound backup', async () => {
    const { store, repository } = await fresh();
    const target = temporaryDirectory();
    expect(await store.backup('site', target)).toEqual({ bytes: 0, refs: [] });
    expect(await (await store.restore('copy', target)).branches()).toEqual([]);
    await expect(store.restore('other', temporaryDirectory())).rejects.toMatchObject({ code: 'invalid_request' });
    await save(repository, { a: '1' });
    await store.backup('site', target);
    const bundle = join(target, readdirSync(target).find((name) => name.endsWith('.bundle')) ?? '');
    const whole = readFileSync(bundle);
    for (const broken of ['# v2 git bundle\nrubbish', whole.subarray(0, -30), '']) {
      writeFileSync(bundle, broken);
      await expect(store.restore('other', target)).rejects.toMatchObject({ code: 'invalid_request' });
      expect(await store.exists('other')).toBe(false);
    }
    writeFileSync(bundle, whole);
    expect(await (await store.restore('other', target)).head('main')).toBe(await repository.head('main'));
  });
});
