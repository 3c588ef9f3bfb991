import { ProtocolError, ProtocolErrorCode, type Server } from '@modelcontextprotocol/server';
import { callerReads } from '../domain/assistant/call-tool.ts';
import { tasks, taskText } from '../domain/assistant/tasks.ts';
import { refusing } from './resources.ts';
import type { McpCaller } from './server.ts';

const project = {
  name: 'project',
  description: 'Machine name of the project, where the token reaches several',
  required: false,
};

/** Offers the ready-made tasks of the assistant as prompts, worded as the project words them. */
export function addPrompts(server: Server, caller: McpCaller): void {
  server.setRequestHandler('prompts/list', () => ({
    prompts: tasks.map(({ name, title, description, arguments: given }) => ({
      ...{ name, title, description },
      arguments: [...given, project],
    })),
  }));
  server.setRequestHandler(
    'prompts/get',
    async ({ params: { name, arguments: given = {} } }, { mcpReq: { signal } }) => {
      const task = tasks.find((one) => one.name === name);
      if (!task) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown prompt: ${name.slice(0, 100)}`);
      const { project: wanted, ...blanks } = given;
      return refusing(async () => {
        const { text } = await taskText(task, callerReads(await caller.in({ project: wanted }, signal)), blanks);
        return { description: task.description, messages: [{ role: 'user', content: { type: 'text', text } }] };
      });
    },
  );
}
