/** A server that is killed while an entry is edited on its page. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { setUp } from '../support/browser.ts';
import { openPage } from '../support/dashboard.ts';
import { save, saveState, titleField } from '../support/entry-editor.ts';
import { freePort } from '../support/free-port.ts';
import { edit, expectFocus, frameOf, pageReady } from '../support/page-editor.ts';
import { restClient } from '../support/rest-client.ts';
import { demoDataDir, kill, portico, readFirstRun, settingsFor, startServer } from '../support/server-process.ts';

const run = promisify(execFile);
const sentences = ['The frost came in the night and took the pear blossom.', 'Last words of the post.'];
const raw = `---\ntitle: Late frost\n---\n\n${sentences.join('\n\n')}\n`;
const files = {
  'hugo.toml': "baseURL = 'https://orchard.example/'\n",
  'content/posts/frost.md': raw,
  'public/posts/frost/index.html': `<!doctype html><title>Late frost</title><main><h1>Late frost</h1>${sentences.map((text) => `<p>${text}</p>`).join('')}</main>`,
};

/** A repository of those files. */
async function madeRepository(): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'portico-orchard-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  for (const [file, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(directory, file)), { recursive: true });
    await writeFile(path.join(directory, file), text);
  }
  const author = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org'];
  for (const args of [
    ['init', '--quiet', '--initial-branch=main'],
    ['add', '--all'],
    ['commit', '--quiet', '-m', 'First'],
  ])
    await run('git', [...author, ...args], { cwd: directory });
  return directory;
}

test('has all that was typed there once it has started again, and the page goes on', async () => {
  const { dataDir } = await demoDataDir();
  const place = ['--organization', 'demo', '--project', 'orchard'];
  const imported = await portico(['import', await madeRepository(), ...place], settingsFor(dataDir));
  expect(imported.code, imported.stderr).toBe(0);
  const owner = ['token', 'create', '--organization', 'demo', '--preset', 'owner'];
  const token = (await portico(owner, settingsFor(dataDir))).stdout.trim();
  const port = String(await freePort());
  const ports = { PORTICO_PORT: port, PORTICO_PREVIEW_PORT: String(await freePort()) };
  const first = await startServer(dataDir, ports);
  const api = restClient(first.url, token);
  const studio = '/organizations/demo/projects/orchard/studio';
  await api.send('POST', `${studio}/route-patterns/detect`, { save: true });
  const live = { name: 'Live', branch: 'main', provider: 'static', output_directory: 'public', auto_deploy: true };
  expect((await api.send('POST', `${studio}/environments`, live)).status).toBe(201);
  const published = async () => (await api.get(`${studio}/environments`)).body[0]?.published_deployment_id ?? null;
  await expect.poll(published).not.toBeNull();

  const { setup_url = '' } = await readFirstRun(dataDir);
  const { cookie } = await setUp(first, setup_url);
  const page = await openPage();
  const url = `http://localhost:${port}`;
  await page.context().addCookies([{ name: 'portico', value: cookie?.replace('portico=', '') ?? '', url }]);
  await page.goto(`${url}/p/demo/orchard/content/posts/frost`);
  await titleField(page).waitFor();
  await page.getByText('Page', { exact: true }).click();
  await pageReady(page);
  await edit(page, 'Last words');
  await page.keyboard.press('Control+End');
  const words = ' Every word of this is typed while the server dies.';
  await page.keyboard.type(words.slice(0, 20));
  await Promise.all([page.keyboard.type(words.slice(20), { delay: 5 }), kill(first.child)]);
  await frameOf(page).getByText(words.trim()).waitFor();
  await saveState(page, 'All changes saved in this browser');
  await page.keyboard.press('Control+s');
  await page.getByRole('alert').getByText('The server cannot be reached').waitFor();

  const second = await startServer(dataDir, ports);
  await expectFocus(page, 'Text');
  await page.keyboard.type(' And after.');
  await save(page);
  const { body } = await restClient(second.url, token).get(`${studio}/collections/posts/frost?raw=true`);
  expect(body.raw).toBe(raw.replace('of the post.', `of the post.${words} And after.`));
  await frameOf(page).getByText('dies. And after.').waitFor();
  await page.close();
  await second.stop();
});
