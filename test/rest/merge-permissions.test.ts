import { beforeAll, describe, expect, it } from 'vitest';
import { shared, startTestApp, studio } from '../support/app.ts';
import { commitTo, makeBranch, post, postPath, seedPosts } from '../support/conflict-site.ts';
import { expectRefusal } from '../support/refusal.ts';

const app = shared(startTestApp);
let editor: string;
beforeAll(async () => {
  await seedPosts(app);
  editor = await app.makeToken(['browse_studio', 'edit_studio']);
});

let made = 0;
/** A branch that conflicts with main in one file. */
async function conflictIn(
  path: string,
  contents: { base: string; here: string | null; there: string | null },
): Promise<string> {
  const branch = `conflict-${++made}`;
  await commitTo(app, 'main', { [path]: contents.base });
  await makeBranch(app, branch);
  await commitTo(app, 'main', { [path]: contents.here });
  await commitTo(app, branch, { [path]: contents.there });
  return branch;
}

const stagesOf = async (head: string) =>
  (await app.ask('POST', `${studio}/merge`, { body: { head, dry_run: true } })).body.conflicts[0];
const merge = (head: string, resolution: object, more: object = {}, token = editor) =>
  app.ask('POST', `${studio}/merge`, { token, body: { head, resolutions: [resolution], ...more } });

describe('a resolution of a file that is no content', () => {
  const path = 'astro.config.mjs';
  const code = { base: 'one()\n', here: 'two()\n', there: 'three()\n' };

  it.each([
    ['raw', () => ({ raw: 'evil()\n' })],
    ['delete', () => ({ delete: true })],
    ['base', () => ({ take: 'base' })],
    ['a hunk of its own', (id: string) => ({ hunks: { [id]: { value: 'evil()\n' } } })],
    ['hunks chosen', (id: string) => ({ hunks: { [id]: { take: 'current' } } })],
  ])('by %s needs manage_studio', async (_name, way) => {
    const head = await conflictIn(path, code);
    const { stages, hunks } = await stagesOf(head);
    const resolution = { path, stages, ...way(hunks[0].id) };
    const dry = await merge(head, resolution, { dry_run: true });
    expectRefusal(dry, 403, 'forbidden', 'Missing permission: manage_studio');
    expectRefusal(await merge(head, resolution), 403, 'forbidden', 'Missing permission: manage_studio');
    const { body } = await app.ask('POST', `${studio}/pulls`, { body: { title: 'x', head } });
    const pull = await app.ask('POST', `${studio}/pulls/${body.number}/merge`, {
      token: editor,
      body: { resolutions: [resolution] },
    });
    expectRefusal(pull, 403, 'forbidden', 'Missing permission: manage_studio');
    expect((await merge(head, resolution, {}, app.token)).status).toBe(201);
  });

  it('by choosing one of the two sides needs no more than to merge', async () => {
    const head = await conflictIn(path, code);
    const { stages } = await stagesOf(head);
    expect((await merge(head, { path, stages, take: 'incoming' })).status).toBe(201);
  });
});

describe('a resolution of an entry', () => {
  const path = postPath('settled');
  const entry = { base: post({ title: 'One' }), here: post({ title: 'Two' }), there: post({ title: 'Three' }) };

  it('by new values needs no more than to edit', async () => {
    const head = await conflictIn(path, entry);
    const { stages } = await stagesOf(head);
    expect((await merge(head, { path, stages, fields: { '/title': { value: 'Four' } } })).status).toBe(201);
  });

  it('that deletes it needs delete_studio, unless one side has deleted it', async () => {
    const head = await conflictIn(path, entry);
    const { stages } = await stagesOf(head);
    const resolution = { path, stages, delete: true };
    expectRefusal(await merge(head, resolution), 403, 'forbidden', 'Missing permission: delete_studio');
    expect((await app.ask('GET', `${studio}/collections/posts/settled`)).status).toBe(200);
    expect((await merge(head, resolution, {}, app.token)).status).toBe(201);
    const gone = await conflictIn(path, { ...entry, there: null });
    expect((await merge(gone, { ...resolution, stages: (await stagesOf(gone)).stages })).status).toBe(201);
  });
});

describe('content that neither side holds any more', () => {
  const page = '<!doctype html><script>evil()</script>\n';
  const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
  /** A branch of a commit at which main had a file, which main has lost and the branch has changed. */
  async function lost(path: string, base: string, there: string | Buffer): Promise<string> {
    const head = `lost-${++made}`;
    await commitTo(app, 'main', { [path]: base });
    await makeBranch(app, head);
    await commitTo(app, 'main', { [path]: null });
    await commitTo(app, head, { [path]: there });
    return head;
  }

  it('comes back only as what may be written there', async () => {
    const path = 'public/bad.png';
    const head = await lost(path, page, png);
    const { stages } = await stagesOf(head);
    const resolution = { path, stages, take: 'base' };
    expectRefusal(await merge(head, resolution), 403, 'forbidden', 'Missing permission: manage_studio');
    expect((await merge(head, resolution, {}, app.token)).status).toBe(201);
    const text = await lost('public/good.txt', 'Text\n', 'Other text\n');
    const good = { path: 'public/good.txt', stages: (await stagesOf(text)).stages, take: 'base' };
    expect((await merge(text, good)).status).toBe(201);
  });

  it('comes back as code only with manage_studio, also under a name that neither has', async () => {
    const [from, here, there] = ['src/old.js', 'src/here.js', 'src/there.js'] as const;
    const [head, text] = ['code-renamed', 'same()\n'.repeat(20)];
    await commitTo(app, 'main', { [from]: text });
    await makeBranch(app, head);
    await commitTo(app, 'main', { [from]: null, [here]: text });
    await commitTo(app, head, { [from]: null, [there]: text });
    const { conflicts } = (await app.ask('POST', `${studio}/merge`, { body: { head, dry_run: true } })).body;
    const takes: Record<string, string> = { [from]: 'base', [here]: 'current', [there]: 'incoming' };
    const resolutions = conflicts.map(({ path, stages }: { path: string; stages: object }) => ({
      ...{ path, stages, take: takes[path] },
    }));
    const ask = (token: string) => app.ask('POST', `${studio}/merge`, { token, body: { head, resolutions } });
    expectRefusal(await ask(editor), 403, 'forbidden', 'Missing permission: manage_studio');
    expect((await ask(app.token)).status).toBe(201);
  });

  it('and what hunks make of a file of media, is held to what it may be', async () => {
    const path = 'public/bad.gif';
    const head = await conflictIn(path, { base: 'one\n', here: 'two\n', there: 'three\n' });
    const { stages, hunks } = await stagesOf(head);
    const resolution = { path, stages, hunks: { [hunks[0].id]: { value: page } } };
    expectRefusal(await merge(head, resolution), 403, 'forbidden', 'Missing permission: manage_studio');
    expect((await merge(head, resolution, {}, app.token)).status).toBe(201);
  });
});

describe('a resolution that leaves nothing', () => {
  type Conflict = { path: string; stages: Record<'base' | 'current' | 'incoming', string | null> };
  const conflictsOf = async (head: string): Promise<Conflict[]> =>
    (await app.ask('POST', `${studio}/merge`, { body: { head, dry_run: true } })).body.conflicts;
  const settled = (head: string, conflicts: readonly Conflict[], ways: Record<string, object>, token = editor) =>
    app.ask('POST', `${studio}/merge`, {
      token,
      body: { head, resolutions: conflicts.map(({ path, stages }) => ({ path, stages, ...ways[path] })) },
    });
  /** An entry that main and a branch have renamed, each in its way. */
  async function renamedTwice() {
    const [from, here, there] = ['from', 'here', 'there'].map((name) => postPath(`${name}-${made}`)) as [
      string,
      string,
      string,
    ];
    const head = `renamed-${++made}`;
    const text = post({ title: 'One' }, 'The same line.\n'.repeat(20));
    await commitTo(app, 'main', { [from]: text });
    await makeBranch(app, head);
    await commitTo(app, 'main', { [from]: null, [here]: text });
    await commitTo(app, head, { [from]: null, [there]: text });
    return { head, from, here, there, conflicts: await conflictsOf(head) };
  }

  it.each([
    ['the side that lacks it', { take: 'incoming' }, { take: 'current' }],
    ['deleting', { delete: true }, { delete: true }],
    ['an ancestor that was elsewhere', { take: 'base' }, { take: 'base' }],
  ])('of both names of an entry by %s needs delete_studio', async (_what, ofHere, ofThere) => {
    const { head, from, here, there, conflicts } = await renamedTwice();
    const ways = { [from]: { take: 'current' }, [here]: ofHere, [there]: ofThere };
    expectRefusal(await settled(head, conflicts, ways), 403, 'forbidden', 'Missing permission: delete_studio');
    expect((await settled(head, conflicts, ways, app.token)).status).toBe(201);
  });

  it.each([
    ['the first', { take: 'current' }, { take: 'current' }, { take: 'current' }],
    ['the second', { delete: true }, { take: 'incoming' }, { take: 'incoming' }],
    ['the former', { take: 'base' }, { delete: true }, { delete: true }],
  ])('but %s of its names needs no more than to merge', async (_what, ofFrom, ofHere, ofThere) => {
    const { head, from, here, there, conflicts } = await renamedTwice();
    expect((await settled(head, conflicts, { [from]: ofFrom, [here]: ofHere, [there]: ofThere })).status).toBe(201);
  });

  it('of files that both sides have added, too large to be merged, needs delete_studio', async () => {
    const [path, head] = ['public/large.txt', 'large'];
    await makeBranch(app, head);
    await commitTo(app, 'main', { [path]: Buffer.alloc(5 * 1024 * 1024 + 1, 'a') });
    await commitTo(app, head, { [path]: Buffer.alloc(5 * 1024 * 1024 + 1, 'b') });
    const conflicts = await conflictsOf(head);
    const ways = { [path]: { take: 'base' } };
    expectRefusal(await settled(head, conflicts, ways), 403, 'forbidden', 'Missing permission: delete_studio');
    expect((await settled(head, conflicts, ways, app.token)).status).toBe(201);
  });
});

describe('a file that is content on a branch and code on main', () => {
  const deploy = (command: string) => `{"command": "${command}"}\n`;
  const changed = (branch: string, directory: string) =>
    app.ask('PUT', `${studio}/collections/${directory}/deploy?branch=${branch}`, {
      token: editor,
      body: { frontmatter: { command: 'evil' } },
    });
  /** A branch of a commit at which the site declared a directory as content. */
  async function earlier(directory: string): Promise<string> {
    await commitTo(app, 'main', {
      '.pages.yml': `content: [{ name: ${directory}, type: collection, path: ${directory}, format: json, fields: [{ name: command, type: string }] }]\n`,
      [`${directory}/deploy.json`]: deploy('safe'),
    });
    const branch = `before-${directory}`;
    await makeBranch(app, branch);
    await commitTo(app, 'main', { '.pages.yml': null });
    return branch;
  }
  const mergeAs = (body: object, token = editor) => app.ask('POST', `${studio}/merge`, { token, body });
  const onMain = async (directory: string) =>
    (await app.ask('GET', `${studio}/file?path=${directory}/deploy.json`)).body.content;
  const refusal = (directory: string) =>
    `${directory}/deploy.json is outside collections and media here, and was content where it was changed. Missing permission: manage_studio`;

  it.each(['merge', 'squash', 'ff'])('comes in by a %s only with manage_studio', async (strategy) => {
    const directory = `tools-${strategy}`;
    const branch = await earlier(directory);
    expect((await changed(branch, directory)).status).toBe(200);
    if (strategy === 'ff') expect((await mergeAs({ base: branch, head: 'main' }, app.token)).status).toBe(201);
    const input = { head: branch, strategy };
    for (const more of [{ dry_run: true }, {}])
      expectRefusal(await mergeAs({ ...input, ...more }), 403, 'forbidden', refusal(directory));
    const { body } = await app.ask('POST', `${studio}/pulls`, { token: editor, body: { title: 'x', head: branch } });
    const pull = { token: editor, body: { strategy } };
    const refused = await app.ask('POST', `${studio}/pulls/${body.number}/merge`, pull);
    expectRefusal(refused, 403, 'forbidden', refusal(directory));
    expect(await onMain(directory)).toBe(deploy('safe'));
    expect((await mergeAs(input, app.token)).status).toBe(201);
    expect(await onMain(directory)).toContain('evil');
  });

  it('does not come in either when a later commit takes it back, which a deployment could leave out', async () => {
    const branch = await earlier('tools-undone');
    const { body } = await changed(branch, 'tools-undone');
    const undo = { path: 'tools-undone/deploy.json', commit: body.commit.sha, branch };
    expect((await app.ask('POST', `${studio}/revert`, { token: editor, body: undo })).status).toBe(201);
    expectRefusal(await mergeAs({ head: branch }), 403, 'forbidden', refusal('tools-undone'));
  });

  it('comes in with what makes it content, and so does what a manager wrote', async () => {
    const branch = 'recipes';
    await makeBranch(app, branch);
    await commitTo(app, branch, { 'recipes/soup.md': post({ title: 'Soup' }), 'src/site.css': 'b {}\n' });
    const soup = await app.ask('PUT', `${studio}/collections/recipes/soup?branch=${branch}`, {
      token: editor,
      body: { frontmatter: { title: 'Cold soup' } },
    });
    expect(soup.status).toBe(200);
    expect((await mergeAs({ head: branch })).status).toBe(201);
    expect((await app.ask('GET', `${studio}/collections/recipes/soup`)).body.title).toBe('Cold soup');
  });
});

describe('what git takes for a renamed file', () => {
  /** A file of media and code alike, of which main loses the first and gets the second, while a branch changes the first. */
  async function likened(media: string, code: string, { here, there }: { here?: string; there: string | null }) {
    const text = `one()\n${'same()\n'.repeat(20)}`;
    const branch = `likened-${++made}`;
    await commitTo(app, 'main', { [media]: text });
    await makeBranch(app, branch);
    await commitTo(app, 'main', { [media]: null, [code]: here ?? text });
    await commitTo(app, branch, { [media]: there });
    return { branch, text };
  }
  const textAt = async (path: string) =>
    (await app.ask('GET', `${studio}/file?path=${encodeURIComponent(path)}`)).body.content;

  it.each([
    ['of the same text', undefined],
    ['of a text that is much alike', `two()\n${'same()\n'.repeat(20)}end()\n`],
  ])('brings no change of media into code %s', async (_what, here) => {
    const [media, code] = [`public/likened-${made}.txt`, `src/likened-${made}.js`];
    const { branch, text } = await likened(media, code, {
      ...(here && { here }),
      there: `evil()\n${'same()\n'.repeat(20)}`,
    });
    const dry = await app.ask('POST', `${studio}/merge`, { token: editor, body: { head: branch, dry_run: true } });
    expect(dry.body.conflicts).toMatchObject([{ path: media, type: 'delete_modify' }]);
    const { stages } = dry.body.conflicts[0];
    const stolen = await merge(branch, { path: code, stages, take: 'incoming' });
    expect(stolen.status).not.toBe(201);
    expect((await merge(branch, { path: media, stages, take: 'incoming' })).status).toBe(201);
    expect(await textAt(code)).toBe(here ?? text);
    expect(await textAt(media)).toContain('evil()');
  });

  it('brings no change of media into code where the other side has renamed the media, too', async () => {
    const [media, code, moved] = [`public/twice-${made}.txt`, `src/twice-${made}.js`, `public/moved-${made}.txt`];
    const { branch, text } = await likened(media, code, { there: null });
    await commitTo(app, branch, { [moved]: `evil()\n${'same()\n'.repeat(20)}` });
    const ask = (body: object) =>
      app.ask('POST', `${studio}/merge`, { token: editor, body: { head: branch, ...body } });
    const { body } = await ask({ dry_run: true });
    const resolutions = body.conflicts.map(({ path, stages }: { path: string; stages: Record<string, unknown> }) => ({
      ...{ path, stages },
      ...(stages.current || stages.incoming ? { take: stages.current ? 'current' : 'incoming' } : { take: 'current' }),
    }));
    expect((await ask({ resolutions })).status).toBe(201);
    expect(await textAt(code)).toBe(text);
    expect(await textAt(moved)).toContain('evil()');
  });

  it('brings no change of media into code that both sides have, as after a squashed merge', async () => {
    const [media, code] = [`public/squashed-${made}.txt`, `src/squashed-${made}.js`];
    const { branch, text } = await likened(media, code, { there: `evil()\n${'same()\n'.repeat(20)}` });
    await commitTo(app, branch, { [code]: text });
    const dry = await app.ask('POST', `${studio}/merge`, { token: editor, body: { head: branch, dry_run: true } });
    expect(dry.body.conflicts).toMatchObject([{ path: media, type: 'delete_modify' }]);
    const { stages } = dry.body.conflicts[0];
    expect((await merge(branch, { path: media, stages, take: 'incoming' })).status).toBe(201);
    expect(await textAt(code)).toBe(text);
  });

  it('still brings changes of code into code that was renamed, and of media into media', async () => {
    for (const [from, to] of [
      ['src/renamed-a.js', 'src/renamed-b.js'],
      ['public/renamed-a.txt', 'public/renamed-b.txt'],
    ] as const) {
      const { branch } = await likened(from, to, { there: `changed()\n${'same()\n'.repeat(20)}` });
      expect((await app.ask('POST', `${studio}/merge`, { token: editor, body: { head: branch } })).status).toBe(201);
      expect(await textAt(to)).toContain('changed()');
    }
  });
});
