import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as FormerClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as FormerTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { TestApp } from './app.ts';

const info = { name: 'test', version: '1.0.0' };
const headersOf = (token: string) => ({ requestInit: { headers: { Authorization: `Bearer ${token}` } } });

/**
 * A client of revision 2026-07-28.
 * @param agree what its person answers when a form is shown; null: it has no forms
 */
export async function connectClient(
  app: Pick<TestApp, 'url'>,
  token: string,
  agree: ((message: string) => boolean | 'decline') | null = null,
): Promise<Client> {
  const client = new Client(info, {
    capabilities: agree ? { elicitation: { form: {} } } : {},
    versionNegotiation: { mode: { pin: '2026-07-28' } },
  });
  if (agree)
    client.setRequestHandler('elicitation/create', ({ params: { message } }) => {
      const answer = agree(message);
      return answer === 'decline' ? { action: 'decline' } : { action: 'accept', content: { agree: answer } };
    });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${app.url}/mcp`), headersOf(token)));
  return client;
}

/** A client of the revisions of 2025, of the SDK before. */
export async function connectFormerClient(app: Pick<TestApp, 'url'>, token: string): Promise<FormerClient> {
  const client = new FormerClient(info);
  await client.connect(new FormerTransport(new URL(`${app.url}/mcp`), headersOf(token)) as never);
  return client;
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into results of every tool
export type ToolResult = { isError: boolean; text: string; content: any; link: string | null };

/** Calls a tool, and reads its answer. */
export async function callTool(
  client: Pick<Client, 'callTool'>,
  name: string,
  given: Record<string, unknown> = {},
): Promise<ToolResult> {
  const { content, structuredContent, isError } = await client.callTool({ name, arguments: given });
  const [first, second] = content as { type: string; text?: string; uri?: string }[];
  return {
    isError: isError === true,
    text: first?.text ?? '',
    content: structuredContent ?? (first?.text?.startsWith('{') ? JSON.parse(first.text) : undefined),
    link: second?.uri ?? null,
  };
}
