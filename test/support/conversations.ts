import { expect } from 'vitest';
import type { TestApp } from './app.ts';
import type { Browser } from './browser.ts';
import type { ModelAnswer } from './model-server.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
export type Any = any;

const at = 'organization: "acme", project: "site"';
const fields = `id title state problem branch base tokens version
  messages { number role text complete context { entry } }
  calls { id message tool arguments_hash state result link phrase commit_sha undone_sha }`;

export const codeOf = (answer: Any) => answer.extensions?.code;

/** The conversations of a person, as the dashboard has them. */
export function conversationsOf(app: TestApp, browser: Browser) {
  const own = {
    /** Runs a mutation. @returns what it answers with, or its error */
    async mutate(name: string, input: object): Promise<Any> {
      const type = `${name[0]?.toUpperCase()}${name.slice(1)}Input`;
      const shown = name === 'undoChange' ? 'undone_sha' : 'state title branch tokens';
      const document = `mutation ($input: ${type}!) { ${name}(${at}, input: $input) { id ${shown} } }`;
      const { body } = await browser.graphql(document, { input });
      return body.data?.[name] ?? body.errors[0];
    },
    async begin(): Promise<string> {
      const { body } = await browser.graphql(`mutation { createConversation(${at}) { id } }`);
      return body.data.createConversation.id;
    },
    async read(id: string): Promise<Any> {
      const { body } = await browser.graphql(
        `{ project(${at}) { studio { conversation(id: "${id}") { ${fields} } } } }`,
      );
      return body.data?.project?.studio?.conversation ?? body.errors?.[0];
    },
    /** Writes a message, and waits for the end of the reply. */
    async say(id: string, text: string, context?: object): Promise<Any> {
      const sent = await own.mutate('sendMessage', { conversation: id, text, ...(context && { context }) });
      expect(sent.state ?? sent).toBe('running');
      await app.services.assistant.replies.settled();
      return own.read(id);
    },
    /** Agrees to the call that waits, and waits for the end of the reply. */
    async approve(id: string): Promise<Any> {
      const {
        id: call,
        arguments_hash,
        phrase,
      } = (await own.read(id)).calls.find(({ state }: Any) => state === 'waiting');
      const answer = await own.mutate('approveTool', { conversation: id, call, arguments_hash, phrase });
      await app.services.assistant.replies.settled();
      return answer;
    },
  };
  return own;
}

/** A model's call of one tool. */
export const callOf = (name: string, given: object): ModelAnswer => ({ calls: [{ name, arguments: given }] });

/** What a branch has at a path; null: nothing. */
export async function contentOf(app: TestApp, branch: string, path: string): Promise<string | null> {
  const git = await app.repository();
  const snapshot = await git.snapshot(await git.head(branch));
  const { entry } = await snapshot.lookup(path);
  return entry ? (await snapshot.blob(entry.oid)).toString() : null;
}
