/**
 * The assistant beside the pages of a project. A conversation belongs to the person who has it; all its changes go to a draft of its own, and what
 * takes something away or goes further waits for a click.
 */
import { ActionIcon, Button, Code, Group, Menu, Modal, Text, TextInput } from '@mantine/core';
import { IconChevronDown, IconPlus, IconX } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { type RefObject, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import {
  AssistantStart,
  CreateConversation,
  DeleteConversation,
  RenameConversation,
  SendMessage,
  StopReply,
} from '../../documents.ts';
import { send } from '../../lib/command.ts';
import type { Fault } from '../../lib/faults.ts';
import { usePageQuery } from '../../lib/page-query.ts';
import { type Place, usePlace } from '../../lib/place.ts';
import { servedText } from '../../lib/served-text.ts';
import { CommandForm } from '../../parts/command-form.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { FaultAlert } from '../../parts/fault-alert.tsx';
import { MarkedText } from '../../parts/marked-text.tsx';
import { Waiting } from '../states.tsx';
import { Answer } from './answer.tsx';
import classes from './assistant.module.css';
import { Composer } from './composer.tsx';
import { type PageContext, usePageContext } from './page-context.ts';
import { ToolCall } from './tool-call.tsx';
import { type Conversation, useConversation } from './use-conversation.ts';

/** Which conversation this tab has open in a project. */
const keyOf = ({ organization, project }: Place) => `portico:conversation:${organization}/${project}`;

function NoModel() {
  const { t } = useTranslation('assistant');
  return (
    <div className={classes.empty}>
      <Text fw={600}>{t('no_model')}</Text>
      <p>{t('no_model_lead')}</p>
      <Code block>
        {
          'PORTICO_ASSISTANT_PROVIDER=openai\nPORTICO_ASSISTANT_URL=http://localhost:11434/v1\nPORTICO_ASSISTANT_MODEL=…'
        }
      </Code>
      <p>{t('no_model_mcp')}</p>
    </div>
  );
}

/** Shows the end of what grows, such as a text that is written, unless the person has scrolled away from it. */
function useEnd(): RefObject<HTMLDivElement | null> {
  const content = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const scroller = content.current?.parentElement;
    if (!content.current || !scroller) return;
    let isAtEnd = true;
    const onScroll = () => {
      isAtEnd = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 48;
    };
    const observer = new ResizeObserver(() => {
      if (isAtEnd) scroller.scrollTop = scroller.scrollHeight;
    });
    observer.observe(content.current);
    scroller.addEventListener('scroll', onScroll);
    return () => {
      observer.disconnect();
      scroller.removeEventListener('scroll', onScroll);
    };
  }, []);
  return content;
}

function Messages({ conversation }: { conversation: Conversation }) {
  const { t } = useTranslation('assistant');
  const content = useEnd();
  const { messages, calls, state, problem, problem_code, branch } = conversation;
  return (
    <div
      ref={content}
      className={classes.messages}
      role="log"
      aria-label={t('messages')}
      aria-busy={state === 'running'}
    >
      {messages.map(({ number, role, text }) => (
        <article key={number} className={classes.message} data-role={role} aria-label={t(`by_${role}`)}>
          {role === 'user' ? (
            <p className={classes.own}>
              <MarkedText text={text} />
            </p>
          ) : (
            <Answer text={text} />
          )}
          {calls
            .filter((call) => call.message === number)
            .map((call) => (
              <ToolCall key={call.id} call={call} conversation={conversation.id} branch={branch} />
            ))}
        </article>
      ))}
      {state === 'running' && (
        <p className={classes.note} role="status">
          {t('replying')}
        </p>
      )}
      {problem !== null && state !== 'running' && (
        <p className={classes.problem} role="alert">
          {problem_code ? servedText(`problem_${problem_code.code}`, problem, problem_code.values) : problem}
        </p>
      )}
    </div>
  );
}

/** Where the changes of a conversation are, and the ways to see them all. */
function OwnDraft({ branch, place }: { branch: string; place: Place }) {
  const { t } = useTranslation('assistant');
  const { organization, project } = place;
  return (
    <Group gap="xs" className={classes.draft} justify="space-between">
      <span>{t('own_draft')}</span>
      <Group gap="xs">
        {place.draft !== branch && (
          <Link to="." search={(before) => ({ ...before, draft: branch })}>
            {t('show_draft')}
          </Link>
        )}
        <Link
          to="/p/$organization/$project/drafts/changes"
          params={{ organization, project }}
          search={{ draft: branch }}
        >
          {t('all_changes')}
        </Link>
      </Group>
    </Group>
  );
}

interface HeaderProps {
  place: Place;
  items: readonly { id: string; title: string }[];
  open: { id: string; title: string } | null;
  onOpen: (id: string | null) => void;
  onChanged: () => void;
  onClose: () => void;
}

function Header({ place, items, open, onOpen, onChanged, onClose }: HeaderProps) {
  const { t } = useTranslation(['assistant', 'common']);
  const { organization, project } = place;
  const [dialog, setDialog] = useState<'rename' | 'delete' | null>(null);
  const [fault, setFault] = useState<Fault | null>(null);
  const [isRunning, setRunning] = useState(false);
  const [title, setTitle] = useState('');
  const close = () => {
    setDialog(null);
    setFault(null);
  };
  const change = async (work: () => Promise<{ fault: Fault | null }>) => {
    setRunning(true);
    const { fault } = await work();
    setRunning(false);
    setFault(fault);
    if (fault) return;
    close();
    onChanged();
  };
  const rename = () =>
    change(() => send(RenameConversation, { organization, project, input: { conversation: open?.id ?? '', title } }));
  const remove = () =>
    change(async () => {
      const outcome = await send(DeleteConversation, {
        organization,
        project,
        input: { conversation: open?.id ?? '' },
      });
      if (!outcome.fault) onOpen(null);
      return outcome;
    });
  return (
    <header className={classes.header}>
      <Menu position="bottom-start" width={300}>
        <Menu.Target>
          <Button
            variant="subtle"
            color="gray"
            size="compact-sm"
            rightSection={<IconChevronDown size={14} />}
            className={classes.title}
          >
            {open ? open.title || t('new_conversation') : t('assistant')}
          </Button>
        </Menu.Target>
        <Menu.Dropdown className={classes.menu}>
          <Menu.Item leftSection={<IconPlus size={14} />} onClick={() => onOpen(null)}>
            {t('new_conversation')}
          </Menu.Item>
          {open && (
            <Menu.Item
              onClick={() => {
                setTitle(open.title);
                setDialog('rename');
              }}
            >
              {t('rename')}
            </Menu.Item>
          )}
          {open && <Menu.Item onClick={() => setDialog('delete')}>{t('delete')}</Menu.Item>}
          {items.length > 0 && <Menu.Divider />}
          {items.map(({ id, title }) => (
            <Menu.Item key={id} onClick={() => onOpen(id)} aria-current={id === open?.id || undefined}>
              {title || t('new_conversation')}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      <ActionIcon variant="subtle" color="gray" aria-label={t('close')} onClick={onClose}>
        <IconX size={18} />
      </ActionIcon>
      {dialog === 'rename' && open && (
        <Modal opened onClose={close} title={t('rename')}>
          <CommandForm submit={t('rename')} onSubmit={rename} onCancel={close} isRunning={isRunning} fault={fault}>
            <TextInput
              label={t('common:name')}
              value={title}
              onChange={(event) => setTitle(event.currentTarget.value)}
              maxLength={200}
              data-autofocus
            />
          </CommandForm>
        </Modal>
      )}
      {dialog === 'delete' && open && (
        <Confirm
          title={t('delete_title', { title: open.title })}
          action={t('delete')}
          onConfirm={remove}
          onClose={close}
          isRunning={isRunning}
          fault={fault}
        >
          {t('delete_lead')}
        </Confirm>
      )}
    </header>
  );
}

export function Assistant({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation('assistant');
  const place = usePlace();
  const { organization, project } = place;
  const [id, setId] = useState<string | null>(() => sessionStorage.getItem(keyOf(place)));
  const [context, dropSelection] = usePageContext();
  const [fault, setFault] = useState<Fault | null>(null);
  const start = usePageQuery({ query: AssistantStart, variables: { organization, project } });
  const { conversation, fault: lost } = useConversation(place, id);
  const studio = start.data?.project?.studio;
  const open = (next: string | null) => {
    setFault(null);
    setId(next);
    if (next === null) sessionStorage.removeItem(keyOf(place));
    else sessionStorage.setItem(keyOf(place), next);
  };
  // One that was deleted elsewhere, or is of another person who was signed in here.
  useEffect(() => {
    if (lost?.code === 'NOT_FOUND') setId(null);
  }, [lost]);

  const write = async (text: string): Promise<boolean> => {
    setFault(null);
    let to = id;
    if (to === null) {
      const made = await send(CreateConversation, { organization, project, input: {} });
      to = made.data?.createConversation?.id ?? null;
      if (to === null) {
        setFault(made.fault);
        return false;
      }
      open(to);
    }
    const { deployment: _, ...shown } = context;
    const { fault } = await send(SendMessage, {
      organization,
      project,
      input: { conversation: to, text, context: shown satisfies PageContext },
    });
    setFault(fault);
    if (fault) return false;
    dropSelection();
    start.refresh();
    return true;
  };
  const stop = async () => {
    if (id === null) return;
    const { fault } = await send(StopReply, { organization, project, input: { conversation: id } });
    setFault(fault);
  };
  const hasModel = studio?.assistant?.model != null;
  return (
    <section className={classes.panel} aria-label={t('assistant')}>
      <Header
        place={place}
        items={studio?.conversations?.nodes ?? []}
        open={conversation}
        onOpen={open}
        onChanged={start.refresh}
        onClose={onClose}
      />
      {conversation?.branch && <OwnDraft branch={conversation.branch} place={place} />}
      <div className={classes.body}>
        {!studio && !start.fault && <Waiting rows={3} />}
        {studio && !hasModel && <NoModel />}
        {id !== null && !conversation && !lost && <Waiting rows={3} />}
        {conversation && <Messages conversation={conversation} />}
        {studio && hasModel && id === null && (
          <div className={classes.empty}>
            <Text fw={600}>{t('welcome')}</Text>
            <p>{t('welcome_lead')}</p>
          </div>
        )}
      </div>
      <div className={classes.foot}>
        <FaultAlert fault={fault ?? start.fault ?? (lost?.code === 'NOT_FOUND' ? null : lost)} />
        {hasModel && (
          <Composer
            state={conversation?.state ?? 'idle'}
            context={context}
            onDropSelection={dropSelection}
            onSend={write}
            onStop={stop}
          />
        )}
      </div>
    </section>
  );
}
