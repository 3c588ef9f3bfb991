import { type Benchmark, check, timedCase } from './benchmark.ts';
import { makeFixture } from './support/fixture.ts';
import { siteRepository } from './support/repositories.ts';
import { startServer } from './support/server.ts';

interface Call {
  name: string;
  /** Arguments of the tool, for the nth call. */
  given(n: number): Record<string, unknown>;
  /** The same over REST, below the studio. */
  rest(n: number): { method: string; path: string; body?: object };
}

/** Revisions of the protocol: 2026-07-28 answers in JSON, those of 2025 in a stream of events. */
const revisions = ['2026', '2025'] as const;
type Revision = (typeof revisions)[number];

const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
const headersOf = (revision: Revision, tool: string) => ({
  Accept: 'application/json, text/event-stream',
  ...(revision === '2026' && {
    'MCP-Protocol-Version': '2026-07-28',
    'Mcp-Method': 'tools/call',
    'Mcp-Name': tool,
  }),
});

const branch = 'tools';

const calls: readonly Call[] = [
  {
    name: 'get_entry',
    given: () => ({ collection: 'posts', entry: 'd01/post-000001' }),
    rest: () => ({ method: 'GET', path: '/collections/posts/d01/post-000001?include=faults' }),
  },
  {
    name: 'search_entries',
    given: () => ({ collection: 'posts', sort: ['-date'] }),
    rest: () => ({ method: 'GET', path: '/collections/posts?sort=-date' }),
  },
  {
    name: 'update_entry',
    given: (n) => ({ collection: 'posts', entry: 'd01/post-000001', branch, frontmatter: { title: `Tool ${n}` } }),
    rest: (n) => ({
      method: 'PUT',
      path: '/collections/posts/d01/post-000001',
      body: { branch, frontmatter: { title: `REST ${n}` } },
    }),
  },
];

/** What a tool costs over the operation it is, each call of one beside a call of the other. */
export const tools: Benchmark = {
  name: 'tools',
  summary: 'Tool calls over the Model Context Protocol, beside the same operations over REST.',
  async run(bench) {
    const dataRoot = await bench.directory();
    const { dataDir, environment, token, projects } = await makeFixture(dataRoot, {
      site: await siteRepository({ posts: bench.scaled(1_000, 50), directories: 10 }),
    });
    const server = await startServer({ dataDir, environment });
    bench.defer(() => server.stop());
    const authorised = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const request = async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
      const began = performance.now();
      const response = await fetch(`${server.url}${path}`, {
        method,
        headers: { ...authorised, ...headers },
        ...(body && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return { took: performance.now() - began, status: response.status, text };
    };
    const { studio } = projects.site;
    const made = await request('POST', `${studio}/branches`, { name: branch });
    check(made.status === 201, `A branch is answered with ${made.status}`);
    const cases = [];
    for (const { name, given, rest } of calls) {
      const overheads = new Map<Revision, number[]>(revisions.map((revision) => [revision, []]));
      const alone: number[] = [];
      const count = bench.scaled(120, 10);
      for (let n = -5; n < count; n += 1) {
        const byTool = (revision: Revision) => {
          const params = { name, arguments: given(n), ...(revision === '2026' && { _meta: envelope }) };
          return request(
            'POST',
            '/mcp',
            { jsonrpc: '2.0', id: n, method: 'tools/call', params },
            headersOf(revision, name),
          );
        };
        const byRest = () => {
          const { method, path, body } = rest(n);
          return request(method, `${studio}${path}`, body);
        };
        const operation = await byRest();
        check(operation.status < 300, `REST answers ${operation.text.slice(0, 500)}`);
        for (const [revision, overhead] of overheads) {
          const tool = await byTool(revision);
          const isDone = tool.status === 200 && !tool.text.includes('"isError":true');
          check(isDone, `${name} answers ${tool.text.slice(0, 500)}`);
          if (n >= 0) overhead.push(tool.took - operation.took);
        }
        if (n >= 0) alone.push(operation.took);
      }
      cases.push(timedCase(`${name}: the operation over REST`, alone));
      for (const [revision, overhead] of overheads)
        cases.push(timedCase(`${name}: a tool of revision ${revision} over that`, overhead, { atMost: 5 }));
    }
    return {
      cases,
      notes: [
        'One client; each operation over REST is followed by the same one as a tool of either revision, without a session.',
      ],
    };
  },
};
