import type { ServerResponse } from 'node:http';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { seed, studio } from '../support/app.ts';
import { type AssistantTask, assistantTasks, expectDone, extraFiles, type Json } from '../support/assistant-tasks.ts';
import { expectGoodPage, narrow, withDashboard } from '../support/dashboard.ts';
import { type ModelAnswer, type ModelQuestion, startModelServer } from '../support/model-server.ts';
import { siteFiles } from '../support/site-files.ts';

const model = await startModelServer();
const dashboard = withDashboard({
  PORTICO_ASSISTANT_PROVIDER: 'openai',
  PORTICO_ASSISTANT_URL: model.url,
  PORTICO_ASSISTANT_MODEL: 'scripted',
});
const entry = '/p/acme/site/content/posts/en/alpha';

beforeAll(async () => {
  await seed(dashboard.app, siteFiles);
});
beforeEach(() => {
  model.script = [];
});
afterAll(() => model.close());

async function openAssistant(page: Page) {
  await page.getByRole('button', { name: 'Assistant', exact: true }).click();
  const panel = page.getByRole('region', { name: 'Assistant' });
  await panel.getByText('What shall be done?').waitFor();
  return panel;
}
const rawOf = async (slug: string, branch = 'main') =>
  (await dashboard.app.ask('GET', `${studio}/collections/posts/${slug}?raw=true&branch=${branch}`)).body.raw;
const drafts = async (): Promise<string[]> =>
  (await dashboard.app.ask('GET', `${studio}/branches?q=assistant`)).body.map(({ name }: { name: string }) => name);

test('the assistant changes an entry on a draft of its own, field by field, and the change is taken back', async () => {
  model.script = [
    {
      texts: ['I read ', 'it first.'],
      calls: [{ name: 'get_entry', arguments: { collection: 'posts', entry: 'en/alpha' } }],
    },
    {
      calls: [
        {
          name: 'update_entry',
          arguments: { collection: 'posts', entry: 'en/alpha', frontmatter: { title: 'Omega' }, message: 'Retitle it' },
        },
      ],
    },
    { texts: ['It is called **Omega** now.'] },
  ];
  const page = await dashboard.open(entry);
  const panel = await openAssistant(page);
  await panel.getByText('Open: posts/en/alpha').waitFor();
  await panel.getByRole('textbox', { name: 'Message to the assistant' }).fill('Call it Omega');
  await page.keyboard.press('Enter');
  await panel.getByText('I read it first.').waitFor();
  await panel.getByText('It is called Omega now.').waitFor();
  await panel.getByRole('row', { name: /title Alpha Omega/i }).waitFor();
  const [draft] = await drafts();
  expect(await rawOf('en/alpha', draft)).toBe((await rawOf('en/alpha')).replace('"Alpha"', '"Omega"'));
  expect(await rawOf('en/alpha')).toBe(siteFiles['src/content/posts/en/alpha.md']);
  expect(JSON.stringify(model.questions.at(-1)?.body)).toContain('en/alpha');
  await expectGoodPage(page);

  await panel.getByRole('button', { name: 'Undo' }).click();
  await panel.getByText('Taken back.').waitFor();
  expect(await rawOf('en/alpha', draft)).toBe(await rawOf('en/alpha'));

  await page.reload();
  await panel.getByText('It is called Omega now.').waitFor();
  await panel.getByRole('link', { name: 'Show the draft' }).click();
  await page.waitForURL(/draft=assistant/);
});

test('what takes something away waits for a click that names it', async () => {
  const remove = { name: 'delete_entry', arguments: { collection: 'posts', entry: 'en/beta' } };
  model.script = [{ calls: [remove] }, { texts: ['Then it stays.'] }];
  const page = await dashboard.open('/p/acme/site');
  const panel = await openAssistant(page);
  const message = panel.getByRole('textbox', { name: 'Message to the assistant' });
  await message.fill('Delete beta');
  await panel.getByRole('button', { name: 'Send' }).click();
  const consent = panel.getByRole('group', { name: 'The assistant asks to:' });
  await consent.getByText(/^delete posts\/en\/beta at [0-9a-f]{7} from assistant\//).waitFor();
  await consent.getByRole('button', { name: 'Refuse' }).click();
  await panel.getByText('Then it stays.').waitFor();
  await panel.getByText('You refused this.').waitFor();

  model.script = [{ calls: [remove] }, { texts: ['It is gone.'] }];
  await message.fill('Do it all the same');
  await panel.getByRole('button', { name: 'Send' }).click();
  await consent.getByRole('button', { name: 'Agree' }).click();
  await panel.getByText('It is gone.').waitFor();
  await panel.getByRole('button', { name: /Beta/ }).waitFor();
  expect(await rawOf('en/beta')).toContain('Beta body');
});

test('a ready-made task shows its text before it is sent', async () => {
  model.script = [{ texts: ['Nothing to improve.'] }];
  const page = await dashboard.open(entry);
  const panel = await openAssistant(page);
  await panel.getByRole('button', { name: 'Ready-made tasks' }).click();
  await page.getByRole('menuitem', { name: 'Improve a text' }).click();
  const form = page.getByRole('dialog', { name: 'Improve a text' });
  expect(await form.getByRole('textbox', { name: 'Collection' }).inputValue()).toBe('posts');
  expect(await form.getByRole('textbox', { name: 'Entry' }).inputValue()).toBe('en/alpha');
  await form.getByRole('button', { name: 'Write the message' }).click();
  const message = panel.getByRole('textbox', { name: 'Message to the assistant' });
  await expect.poll(() => message.inputValue()).toMatch(/^Improve the text of the entry posts\/en\/alpha/);
  await panel.getByRole('button', { name: 'Send' }).click();
  await panel.getByText('Nothing to improve.').waitFor();
});

test('in German it says why it ended, what it asks for and what a task writes in German, too', async () => {
  model.script = [
    { calls: [{ name: 'delete_entry', arguments: { collection: 'posts', entry: 'en/beta' } }] },
    { texts: [''] },
  ];
  const page = await dashboard.open(entry, { email: 'german@example.org', role: 'editor', language: 'de' });
  await page.getByRole('button', { name: 'Assistent', exact: true }).click();
  const panel = page.getByRole('region', { name: 'Assistent' });
  await panel.getByRole('button', { name: 'Fertige Aufgaben' }).click();
  await page.getByRole('menuitem', { name: 'Text verbessern' }).click();
  await page.getByRole('button', { name: 'Nachricht schreiben' }).click();
  const message = panel.getByRole('textbox', { name: 'Nachricht an den Assistenten' });
  await expect.poll(() => message.inputValue()).toMatch(/^Verbessern Sie den Text des Eintrags posts\/en\/alpha\./);

  await panel.getByRole('button', { name: 'Senden' }).click();
  const consent = panel.getByRole('group', { name: 'Der Assistent möchte:' });
  await consent.getByText(/^posts\/en\/beta in der Fassung [0-9a-f]{7} aus assistant\/\S+ löschen$/).waitFor();
  await panel.getByRole('button', { name: 'Anhalten' }).click();
  await panel.getByRole('alert').getByText('Angehalten', { exact: true }).waitFor();
});

test('an answer loads no image, runs no HTML, and says where its links lead', async () => {
  const text =
    '![x](https://evil.example/x.png) <img src="https://evil.example/y.png" onerror="alert(1)"> [here](https://evil.example/z)';
  model.script = [{ texts: [text] }];
  const page = await dashboard.open('/p/acme/site');
  const panel = await openAssistant(page);
  await panel.getByRole('textbox', { name: 'Message to the assistant' }).fill('Hello');
  await page.keyboard.press('Enter');
  await panel.getByRole('link', { name: 'here (evil.example)' }).waitFor();
  expect(await panel.locator('img').count()).toBe(0);
  await panel.getByText('onerror="alert(1)"').waitFor();
});

test('a reply is stopped, and the conversation fits a telephone', async () => {
  const held = Promise.withResolvers<void>();
  model.script = [
    async (response: ServerResponse, _question: ModelQuestion) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write(
        `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta: { content: 'I begin …' } }] })}\n\n`,
      );
      await held.promise;
      response.end();
    },
  ];
  const page = await dashboard.open('/p/acme/site', { size: narrow });
  const panel = await openAssistant(page);
  await panel.getByRole('textbox', { name: 'Message to the assistant' }).fill('Write a long text');
  await panel.getByRole('button', { name: 'Send' }).click();
  await panel.getByText('I begin …').waitFor();
  await panel.getByRole('button', { name: 'Stop' }).click();
  await panel.getByRole('button', { name: 'Send' }).waitFor();
  held.resolve();
  await expectGoodPage(page);
});

/** What a tool has answered, as a model is given it. */
const resultIn = (content: unknown): Json => {
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  return JSON.parse(/<tool_result[^>]*>\n(.*)\n<\/tool_result>/s.exec(text)?.[1] ?? 'null');
};

/** A model that does a task: each request brings the result of its last call, and is answered with the next one. */
function modelOf(task: AssistantTask, own: () => Promise<string>): (question: ModelQuestion) => Promise<ModelAnswer> {
  let next = Promise.withResolvers<ModelAnswer>();
  let result = Promise.withResolvers<Json>();
  const tool = (name: string, given: object = {}): Promise<Json> => {
    result = Promise.withResolvers<Json>();
    next.resolve({ calls: [{ name, arguments: given }] });
    return result.promise;
  };
  const begin = () =>
    task.act(tool, own).then(
      () => next.resolve({ texts: ['All done.'] }),
      (error: unknown) => next.resolve({ texts: [`Failed: ${error}`] }),
    );
  return ({ body }) => {
    const last = body.messages.at(-1);
    next = Promise.withResolvers<ModelAnswer>();
    if (last.role === 'tool') result.resolve(resultIn(last.content));
    else void begin();
    return next.promise;
  };
}

async function newestBranch(): Promise<string | null> {
  const em = dashboard.app.services.orm.em.fork();
  const [row] = (await em.execute('select branch from assistant_conversation order by created_at desc limit 1')) as {
    branch: string | null;
  }[];
  return row?.branch ?? null;
}

test('twelve tasks are done to the expected files, and what goes beyond the draft is agreed to', async () => {
  await seed(dashboard.app, extraFiles);
  const page = await dashboard.open('/p/acme/site');
  const panel = await openAssistant(page);
  for (const task of assistantTasks) {
    const own = async () => (await newestBranch()) ?? 'main';
    const act = modelOf(task, own);
    model.script = Array.from({ length: 40 }, () => act);
    await panel.getByRole('textbox', { name: 'Message to the assistant' }).fill(`The assistant ${task.title}`);
    await page.keyboard.press('Enter');
    const agree = panel.getByRole('button', { name: 'Agree', exact: true });
    const end = panel.getByText(/^(?:All done\.|Failed: .*)$/);
    while ((await Promise.race([agree.waitFor().then(() => 'agree'), end.waitFor().then(() => 'end')])) === 'agree') {
      await agree.click();
      await agree.waitFor({ state: 'detached' });
    }
    expect(await end.textContent(), task.title).toBe('All done.');
    const branch = await newestBranch();
    if (Object.keys(task.files).length > 0) await expectDone(dashboard.app, branch ?? '', task);
    await panel.getByRole('button', { name: /^The assistant/ }).click();
    await page.getByRole('menuitem', { name: 'New conversation' }).click();
    await panel.getByText('What shall be done?').waitFor();
  }
});

test('a suggestion for a selected text changes nothing before it is taken, and only the text it was made for', async () => {
  const page = await dashboard.open(entry);
  const text = page.getByRole('textbox', { name: 'Text', exact: true });
  await text.getByText('Alpha body').click();
  const before = await text.innerText();
  const ask = page.getByRole('button', { name: 'Ask the assistant about the text' });
  const region = page.getByRole('region', { name: 'Ask the assistant about the text' });
  const suggestion = region.getByRole('region', { name: 'Suggestion' });
  model.script = [{ texts: ['A warm', ' welcome.'] }, { texts: ['Nothing of it.'] }];
  await ask.click();
  await region.getByRole('button', { name: 'Improve' }).click();
  expect(await suggestion.innerText()).toBe('A warm welcome.');
  await expectGoodPage(page);
  await page.keyboard.press('Escape');
  await region.waitFor({ state: 'detached' });
  expect(await text.innerText()).toBe(before);

  model.script = [{ texts: ['A warm', ' welcome.'] }, { texts: ['A second one.'] }];
  await ask.click();
  await region.getByRole('textbox').fill('Make it warmer');
  await page.keyboard.press('Enter');
  await suggestion.waitFor();
  await region.getByRole('button', { name: 'Take' }).click();
  await text.getByText('A warm welcome.').waitFor();
  expect(JSON.stringify(model.questions.at(-1)?.body)).toContain('Make it warmer');
  await page.keyboard.press('Control+z');
  await expect.poll(() => text.innerText()).toBe(before);

  await ask.click();
  await region.getByRole('button', { name: 'Shorten' }).click();
  await suggestion.getByText('A second one.').waitFor();
  await text.getByText('Alpha body').click();
  await page.keyboard.type('new ');
  await region.getByRole('button', { name: 'Take' }).click();
  await region.getByText('The text has changed since. Ask again.').waitFor();
  expect(await text.innerText()).toContain('new ');
});
