/**
 * Collections and entries as resources: `portico://<organisation>/<project>/<collection>` is the list of its entries, with `/<slug>` the file of one
 * entry, as it is on the default branch.
 */
import { ProtocolError, ProtocolErrorCode, type Server } from '@modelcontextprotocol/server';
import { callerReads, callTool, type ToolCaller } from '../domain/assistant/call-tool.ts';
import { type Read, toolsByName } from '../domain/assistant/tools.ts';
import { listCollections } from '../domain/studio/content/schemas.operations.ts';
import { getEntry, listEntries } from '../domain/studio/entries/entries.operations.ts';
import { DomainError } from '../kernel/errors.ts';
import { encodePath } from '../lib/text.ts';
import type { McpCaller } from './server.ts';

const scheme = 'portico://';
const template = `${scheme}{organization}/{project}/{collection}/{+slug}`;
/** Projects whose collections are listed: a credential that reaches more finds them by tools. */
const mostProjects = 20;
/** Values that a completion has at most, as the protocol has it. */
const mostValues = 100;
/** Pages of entries that a completion looks through. */
const mostPages = 50;

interface Address {
  organization: string;
  project: string;
  collection: string;
  slug: string | null;
}

/** @throws ProtocolError for what is no address of a resource */
function addressOf(uri: string): Address {
  const parts = uri.startsWith(scheme) ? uri.slice(scheme.length).split('/') : [];
  const [organization, project, collection, ...slug] = parts.map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return '';
    }
  });
  if (!organization || !project || !collection || (slug.length > 0 && slug.includes('')))
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      'uri: must be portico://<organisation>/<project>/<collection>, and /<slug> for one entry',
      { uri },
    );
  return { organization, project, collection, slug: slug.length > 0 ? slug.join('/') : null };
}

async function contentsOf(uri: string, caller: ToolCaller, { collection, slug }: Address) {
  if (slug !== null) {
    const { raw = '' } = await callerReads(caller)(getEntry, { collection, entry: slug, raw: true });
    return { uri, mimeType: 'text/markdown', text: raw };
  }
  const search = toolsByName.get('search_entries');
  if (!search) throw new Error('There is no tool search_entries');
  const outcome = await callTool(search, caller, { collection, per_page: 100 });
  return { uri, mimeType: 'application/json', text: JSON.stringify(outcome.kind === 'done' ? outcome.content : null) };
}

/** Slugs of a collection that begin so; one more than a completion has. */
async function slugsFrom(read: Read, collection: string, start: string): Promise<string[]> {
  const slugs: string[] = [];
  for (let page = 1; page <= mostPages && slugs.length <= mostValues; page += 1) {
    const { items, has_next_page } = await read(listEntries, { collection, page, per_page: 100 });
    slugs.push(...items.map(({ slug }) => slug).filter((slug) => slug.startsWith(start)));
    if (!has_next_page) break;
  }
  return slugs;
}

/** Values for a variable of the template, as far as the others are known. */
async function valuesFor(
  { name: variable, value }: { name: string; value: string },
  known: Record<string, string>,
  caller: McpCaller,
  read: (of: Record<string, string>) => Promise<Read>,
) {
  const reached = await caller.reached();
  if (variable === 'organization') return [...new Set(reached.map(({ organization }) => organization))];
  if (variable === 'project')
    return reached
      .filter(({ organization }) => (known.organization ?? organization) === organization)
      .map(({ project }) => project);
  if (variable === 'collection') {
    const { items } = await (await read(known))(listCollections, { per_page: 100 });
    return items.map(({ name }) => name);
  }
  if (variable === 'slug' && known.collection !== undefined)
    return slugsFrom(await read(known), known.collection, value);
  return [];
}

export function addResources(server: Pick<Server, 'setRequestHandler'>, caller: McpCaller): void {
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [
      {
        uriTemplate: template,
        name: 'entry',
        title: 'Entry',
        description: 'The file of an entry',
        mimeType: 'text/markdown',
      },
    ],
  }));
  server.setRequestHandler('resources/list', async (_request, { mcpReq: { signal } }) => {
    const resources = [];
    for (const place of (await caller.reached()).slice(0, mostProjects)) {
      const read = callerReads(await caller.in({ ...place }, signal));
      // Not every project may be read, and one may have no content yet.
      const found = await read(listCollections, { per_page: 100 }).catch((error: unknown) => {
        if (error instanceof DomainError) return null;
        throw error;
      });
      for (const { name, label, entries_count } of found?.items ?? [])
        resources.push({
          uri: `${scheme}${place.organization}/${place.project}/${encodePath(name)}`,
          name: `${place.project}/${name}`,
          title: label,
          description: `Collection of ${entries_count} entries`,
          mimeType: 'application/json',
        });
    }
    return { resources };
  });
  server.setRequestHandler('resources/read', async ({ params: { uri } }, { mcpReq: { signal } }) => {
    const address = addressOf(uri);
    return { contents: [await contentsOf(uri, await caller.in({ ...address }, signal), address)] };
  });
  server.setRequestHandler(
    'completion/complete',
    async ({ params: { ref, argument, context } }, { mcpReq: { signal } }) => {
      const known = context?.arguments ?? {};
      // Prompts name an entry as the template does.
      const variable = { ...argument, name: argument.name === 'entry' ? 'slug' : argument.name };
      const read = async (of: Record<string, string>) => callerReads(await caller.in({ ...of }, signal));
      const isKnown = ref.type === 'ref/prompt' || ref.uri === template;
      const values = isKnown
        ? await valuesFor(variable, known, caller, read).catch((error: unknown) => {
            if (error instanceof DomainError) return [];
            throw error;
          })
        : [];
      const matching = values.filter((value) => value.startsWith(argument.value));
      return {
        completion: {
          values: matching.slice(0, mostValues),
          total: matching.length,
          hasMore: matching.length > mostValues,
        },
      };
    },
  );
}
