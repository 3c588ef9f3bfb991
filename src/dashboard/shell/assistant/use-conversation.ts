/** A conversation as it is written: its state, messages and calls, kept up by events. */
import { useEffect, useState } from 'react';
import { AssistantEvents, type AssistantEventsSubscription } from '../../documents.ts';
import type { Fault } from '../../lib/faults.ts';
import { follow } from '../../lib/follow.ts';

type Event = NonNullable<AssistantEventsSubscription['assistantEvents']>;
type Changed = NonNullable<Event['changed']>;
export type ShownMessage = Changed['messages'][number];
export type ShownCall = Changed['calls'][number];
export type Conversation = Changed;

/** Adds what an event brings: records replace those before them, a text goes on where it says. */
export function withEvent(before: Conversation | null, { changed, text }: Event): Conversation | null {
  if (changed) {
    const messages = new Map((before?.messages ?? []).map((message) => [message.number, message]));
    for (const message of changed.messages) {
      const known = messages.get(message.number);
      // What is stored of a message that is written lags behind what has been shown of it.
      const isBehind = !message.complete && known !== undefined && known.text.length > message.text.length;
      messages.set(message.number, isBehind ? { ...message, text: known.text } : message);
    }
    const calls = new Map((before?.calls ?? []).map((call) => [call.id, call]));
    for (const call of changed.calls) calls.set(call.id, call);
    return {
      ...changed,
      messages: [...messages.values()].sort((a, b) => a.number - b.number),
      // Of a long conversation they come in the order in which they were last changed.
      calls: [...calls.values()].sort((a, b) => a.message - b.message || a.place - b.place),
    };
  }
  if (!text || !before) return before;
  const known = before.messages.find(({ number }) => number === text.message);
  const message: ShownMessage = known ?? { number: text.message, role: 'assistant', text: '', complete: false };
  const more = { ...message, text: message.text.slice(0, text.offset) + text.text };
  return { ...before, messages: [...before.messages.filter((each) => each !== known), more] };
}

/** @param id null: none is open */
export function useConversation(
  { organization, project }: { organization: string; project: string },
  id: string | null,
): { conversation: Conversation | null; fault: Fault | null } {
  const [shown, setShown] = useState<{ conversation: Conversation | null; fault: Fault | null }>({
    conversation: null,
    fault: null,
  });
  useEffect(() => {
    setShown({ conversation: null, fault: null });
    if (id === null) return;
    let version: string | null = null;
    return follow({
      document: AssistantEvents,
      variables: { organization, project, conversation: id },
      positionOf: ({ assistantEvents }) => {
        if (assistantEvents?.changed) version = String(assistantEvents.changed.version);
        return version;
      },
      onData: ({ assistantEvents: event }) => {
        if (event) setShown((before) => ({ conversation: withEvent(before.conversation, event), fault: null }));
      },
      onEnd: (fault) => fault && setShown((before) => ({ ...before, fault })),
    });
  }, [organization, project, id]);
  return shown;
}
