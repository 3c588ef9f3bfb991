/** Conversations with the assistant, and what happens in them. */
import { z } from 'zod';
import { conversationParts } from '../../domain/assistant/budget.ts';
import {
  approveTool,
  createConversation,
  deleteConversation,
  getAssistant,
  getConversation,
  getTaskText,
  listConversations,
  listTasks,
  readEvents,
  rejectTool,
  renameConversation,
  sendMessage,
  stop,
  undoChange,
} from '../../domain/assistant/conversations.operations.ts';
import { getModel, updateModel } from '../../domain/assistant/model.operations.ts';
import { suggestText } from '../../domain/assistant/suggestions.operations.ts';
import type { EventSubject } from '../../ports/event-feed.ts';
import type { GraphqlContext } from '../context.ts';
import type { Source } from '../stream/follow.ts';
import { field, mutation, type Row, subscription } from '../table.ts';

const conversationEvent = z
  .object({
    changed: getConversation.output
      .nullable()
      .describe(
        'The conversation as it is now, with messages and calls that have changed behind the position. Many of them come in several events, of which ' +
          'each has the position it leads to as its version',
      ),
    text: z
      .object({
        message: z.int32().describe('Number of the message that is written'),
        offset: z.int().describe('Where the text goes, in UTF-16 code units'),
        text: z.string(),
      })
      .meta({ id: 'ConversationText' })
      .nullable()
      .describe('More of a message, as the model writes it; the message itself follows when it is stored'),
  })
  .meta({ id: 'ConversationEvent' });

interface Args {
  organization: string;
  project: string;
  conversation: string;
}

function assistantEvents({ organization, project, conversation }: Args, context: GraphqlContext): Source<unknown> {
  let subject: EventSubject;
  let sent = { message: 0, length: 0 };
  return {
    async read(position) {
      const after = /^\d{1,9}$/.test(position ?? '') ? Number(position) : 0;
      const news = await context.run(readEvents, { organization, project, conversation, after });
      const { changed, live, more } = news;
      subject = news.subject;
      const at = String(changed?.version ?? after);
      const events: { position: string; data: z.input<typeof conversationEvent> }[] = [];
      if (changed) {
        events.push({ position: at, data: { changed, text: null } });
        for (const { number, text } of changed.messages)
          if (number > sent.message || (number === sent.message && text.length > sent.length))
            sent = { message: number, length: text.length };
      }
      if (live && live.message >= sent.message) {
        const offset = live.message === sent.message ? sent.length : 0;
        if (live.text.length > offset) {
          const text = { message: live.message, offset, text: live.text.slice(offset) };
          events.push({ position: at, data: { changed: null, text } });
          sent = { message: live.message, length: live.text.length };
        }
      }
      return { events, position: at, more };
    },
    watch(wake) {
      const ends = [context.live.events.watch(subject, wake), context.live.texts.watch(conversation, wake)];
      return () => {
        for (const end of ends) end();
      };
    },
  };
}

export const assistant: readonly Row[] = [
  field('Organization', 'assistant_model', getModel),
  mutation('updateAssistantModel', updateModel),
  field('Studio', 'assistant', getAssistant),
  field('Studio', 'assistant_tasks', listTasks),
  field('Studio', 'assistant_task_text', getTaskText),
  field('Studio', 'conversations', listConversations),
  field('Studio', 'conversation', getConversation, {
    names: { conversation: 'id' },
    given: { include: (_studio, selects) => conversationParts.filter((part) => selects(part)) },
  }),
  mutation('createConversation', createConversation),
  mutation('renameConversation', renameConversation),
  mutation('deleteConversation', deleteConversation),
  mutation('sendMessage', sendMessage),
  mutation('stopReply', stop),
  mutation('approveTool', approveTool),
  mutation('rejectTool', rejectTool),
  mutation('undoChange', undoChange),
  mutation('suggestText', suggestText),
  subscription('assistantEvents', conversationEvent, {
    description:
      'What happens in a conversation: texts as the model writes them, messages, calls and states as they are stored',
    args: { conversation: z.string().describe('Id of the conversation') },
    source: assistantEvents,
  }),
];
