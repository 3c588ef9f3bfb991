import { restClient } from './rest-client.ts';
import type { ServerProcess } from './server-process.ts';

/** Workflows of the demo's project. */
export const demoWorkflows = '/organizations/demo/projects/site/workflows';
const definition = 'portico: workflow/1\nsteps:\n  - {id: a, type: output, value: "1"}\n';

/** A workflow with a signed webhook, on a server of its own process. */
export async function makeDemoWebhook(server: Pick<ServerProcess, 'url'>, token: string) {
  const rest = restClient(server.url, token);
  const { id } = (await rest.send('POST', demoWorkflows, { name: 'Hooked', definition })).body;
  const fields = { type: 'webhook', auth_mode: 'hmac' };
  const { body: trigger } = await rest.send('POST', `${demoWorkflows}/${id}/triggers`, fields);
  const path = `${demoWorkflows}/${id}/triggers/${trigger.id}`;
  const secret = (await rest.send('POST', `${path}/reveal`, {})).body.secret as string;
  return { id: id as string, path, endpoint: `/webhooks/ai/workflows/${id}`, secret };
}
