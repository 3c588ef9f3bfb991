/** Where a message to the assistant is written: with what is open beside it, and the ready-made tasks. */
import { ActionIcon, Button, Group, Menu, Modal, Stack, Textarea, TextInput } from '@mantine/core';
import { IconListCheck, IconPlayerStopFilled, IconSend, IconX } from '@tabler/icons-react';
import { type KeyboardEvent, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useQuery } from 'urql';
import { AssistantTasks, type AssistantTasksQuery, AssistantTaskText } from '../../documents.ts';
import { client } from '../../lib/client.ts';
import { type Fault, faultOf } from '../../lib/faults.ts';
import { usePlace } from '../../lib/place.ts';
import { servedText } from '../../lib/served-text.ts';
import { FaultAlert } from '../../parts/fault-alert.tsx';
import { MarkedText } from '../../parts/marked-text.tsx';
import classes from './assistant.module.css';
import type { PageContext } from './page-context.ts';

type Task = NonNullable<NonNullable<AssistantTasksQuery['project']>['studio']['assistant_tasks']>[number];

/** Arguments that are texts of many lines. */
const isLong = (name: string) => ['list', 'links', 'log'].includes(name);

interface TaskFormProps {
  task: Task;
  context: PageContext;
  onText: (text: string) => void;
  onClose: () => void;
}

/** What a task needs to know; what is open is filled in. The text it makes is shown before it is sent. */
function TaskForm({ task, context, onText, onClose }: TaskFormProps) {
  const { t } = useTranslation(['assistant', 'common']);
  const { organization, project } = usePlace();
  const known: Record<string, string | undefined> = { ...context };
  const [values, setValues] = useState<Record<string, string>>(() =>
    Object.fromEntries(task.arguments.map(({ name }) => [name, known[name] ?? ''])),
  );
  const [fault, setFault] = useState<Fault | null>(null);
  const [isLoading, setLoading] = useState(false);
  const make = async () => {
    setLoading(true);
    const filled = Object.entries(values).map(([name, value]) => ({ name, value }));
    const variables = { organization, project, task: task.name, values: filled };
    const { data, error } = await client
      .query(AssistantTaskText, variables, { requestPolicy: 'network-only' })
      .toPromise();
    setLoading(false);
    const made = data?.project?.studio.assistant_task_text;
    if (made && !error) onText(made.is_own ? made.text : servedText(`task_${task.name}`, made.text, made.values));
    else if (error) setFault(faultOf(error));
  };
  return (
    <Modal opened onClose={onClose} title={t(`task_${task.name}` as 'task_improve_text', { defaultValue: task.title })}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void make();
        }}
      >
        <Stack>
          <FaultAlert fault={fault} />
          {task.arguments.map(({ name, description, required }) => {
            const Field = isLong(name) ? Textarea : TextInput;
            return (
              <Field
                key={name}
                label={t(`argument_${name}` as 'argument_entry', { defaultValue: name })}
                description={t(`argument_${name}_hint` as 'argument_entry_hint', { defaultValue: description })}
                required={required}
                value={values[name] ?? ''}
                onChange={(event) => setValues({ ...values, [name]: event.currentTarget.value })}
                {...(isLong(name) && { autosize: true, minRows: 4, maxRows: 12 })}
              />
            );
          })}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>
              {t('common:cancel')}
            </Button>
            <Button type="submit" loading={isLoading}>
              {t('write_task')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

function TaskMenu({ context, onText }: { context: PageContext; onText: (text: string) => void }) {
  const { t } = useTranslation('assistant');
  const { organization, project } = usePlace();
  const [chosen, setChosen] = useState<Task | null>(null);
  const [{ data }] = useQuery({ query: AssistantTasks, variables: { organization, project } });
  const tasks = data?.project?.studio.assistant_tasks ?? [];
  return (
    <>
      <Menu position="top-start" width={280}>
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={t('tasks')} title={t('tasks')}>
            <IconListCheck size={18} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {tasks.map((task) => (
            <Menu.Item key={task.name} onClick={() => setChosen(task)}>
              {t(`task_${task.name}` as 'task_improve_text', { defaultValue: task.title })}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {chosen && (
        <TaskForm
          task={chosen}
          context={context}
          onClose={() => setChosen(null)}
          onText={(text) => {
            setChosen(null);
            onText(text);
          }}
        />
      )}
    </>
  );
}

interface ComposerProps {
  state: 'idle' | 'running' | 'waiting';
  context: PageContext;
  /** Forgets the selection that would go along. */
  onDropSelection: () => void;
  /** @returns whether it was taken */
  onSend: (text: string) => Promise<boolean>;
  onStop: () => void;
}

export function Composer({ state, context, onDropSelection, onSend, onStop }: ComposerProps) {
  const { t } = useTranslation('assistant');
  const [text, setText] = useState('');
  const [isSending, setSending] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const send = async () => {
    if (text.trim() === '' || state !== 'idle' || isSending) return;
    setSending(true);
    if (await onSend(text)) setText('');
    setSending(false);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void send();
  };
  const { selection, collection, entry, path } = context;
  const open = entry !== undefined ? `${collection}/${entry}` : (path ?? collection);
  return (
    <div className={classes.composer}>
      {(open !== undefined || selection !== undefined) && (
        <p className={classes.context}>
          {open !== undefined && (
            <span>
              {t('knows_open')} <MarkedText text={open} />
            </span>
          )}
          {selection !== undefined && (
            <span className={classes.selection}>
              {t('knows_selection')}{' '}
              <MarkedText text={`“${selection.slice(0, 60)}${selection.length > 60 ? '…' : ''}”`} />
              <ActionIcon
                size="xs"
                variant="subtle"
                color="gray"
                aria-label={t('drop_selection')}
                onClick={onDropSelection}
              >
                <IconX size={12} />
              </ActionIcon>
            </span>
          )}
        </p>
      )}
      <Textarea
        ref={field}
        aria-label={t('message')}
        placeholder={t('message_placeholder')}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
        autosize
        minRows={2}
        maxRows={12}
        maxLength={100_000}
      />
      <Group justify="space-between" gap="xs" mt={6}>
        <TaskMenu
          context={context}
          onText={(made) => {
            setText(made);
            field.current?.focus();
          }}
        />
        {state === 'idle' ? (
          <Button
            size="xs"
            leftSection={<IconSend size={14} />}
            onClick={send}
            loading={isSending}
            disabled={text.trim() === ''}
          >
            {t('send')}
          </Button>
        ) : (
          <Button size="xs" variant="default" leftSection={<IconPlayerStopFilled size={14} />} onClick={onStop}>
            {t('stop')}
          </Button>
        )}
      </Group>
    </div>
  );
}
