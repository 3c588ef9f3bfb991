/** A call of a tool: what it does, what it waits for, what it has changed, and how that is taken back. */
import { Button, Group, Loader, Skeleton, Stack } from '@mantine/core';
import { IconAlertTriangle, IconArrowBackUp, IconCheck, IconEye, IconX } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useQuery } from 'urql';
import { ApproveTool, CommitParent, MoreChanges, RejectTool, UndoChange } from '../../documents.ts';
import { useCommand } from '../../lib/command.ts';
import { usePlace } from '../../lib/place.ts';
import { servedText } from '../../lib/served-text.ts';
import { Changes } from '../../parts/changes.tsx';
import { FaultAlert } from '../../parts/fault-alert.tsx';
import { MarkedText } from '../../parts/marked-text.tsx';
import classes from './assistant.module.css';
import type { ShownCall } from './use-conversation.ts';

/** Arguments as lines of name and value; null when they are no object. */
function linesOf(text: string): [string, string][] | null {
  try {
    const value: unknown = JSON.parse(text || '{}');
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
    return Object.entries(value).map(([name, item]) => [name, typeof item === 'string' ? item : JSON.stringify(item)]);
  } catch {
    return null;
  }
}

/** What of the arguments says which thing it is about. */
const subjectOf = (lines: [string, string][] | null): string => {
  const values = new Map(lines ?? []);
  const name = ['entry', 'slug', 'media', 'path', 'name', 'q', 'head', 'number', 'deployment'].find((key) =>
    values.has(key),
  );
  return [values.get('collection'), name && values.get(name)].filter(Boolean).join('/');
};

/** So many changed files are shown with what is in them. */
const fewFiles = 3;

/** What a commit of the assistant has changed, field by field. */
function CommitChanges({ sha }: { sha: string }) {
  const { organization, project } = usePlace();
  const [parents] = useQuery({ query: CommitParent, variables: { organization, project, sha } });
  const base = parents.data?.project?.studio.commits?.nodes[0]?.parents[0];
  const [{ data }] = useQuery({
    query: MoreChanges,
    variables: { organization, project, base: base ?? '', head: sha, page: 1 },
    pause: base === undefined,
  });
  const compare = data?.project?.studio.compare;
  return compare ? <Changes first={compare} areOpen={compare.total_files <= fewFiles} /> : <Skeleton height={40} />;
}

function Consent({ call, conversation }: { call: ShownCall; conversation: string }) {
  const { t } = useTranslation('assistant');
  const { organization, project } = usePlace();
  const approval = useCommand(ApproveTool);
  const rejection = useCommand(RejectTool);
  const { arguments_hash, phrase, phrase_code } = call;
  const shown =
    phrase_code &&
    servedText(`consent_${phrase_code.code}`, phrase ?? '', {
      ...(phrase_code.values as object),
      tool: t(`tool_${call.tool}` as 'tool_get_entry', { defaultValue: call.tool }),
    });
  const common = { conversation, call: call.id };
  const isBusy = approval.isRunning || rejection.isRunning;
  const approve = () =>
    approval.run({ organization, project, input: { ...common, arguments_hash, phrase: phrase ?? '' } });
  const reject = () => rejection.run({ organization, project, input: common });
  return (
    <Stack gap="xs" className={classes.consent} role="group" aria-label={t('wants_consent')}>
      <p>{t('wants_consent')}</p>
      <p className={classes.phrase}>
        <MarkedText text={shown ?? phrase ?? ''} />
      </p>
      <FaultAlert fault={approval.fault ?? rejection.fault} />
      <Group gap="xs">
        <Button size="xs" onClick={approve} loading={approval.isRunning} disabled={isBusy && !approval.isRunning}>
          {t('agree')}
        </Button>
        <Button
          size="xs"
          variant="default"
          onClick={reject}
          loading={rejection.isRunning}
          disabled={isBusy && !rejection.isRunning}
        >
          {t('refuse')}
        </Button>
      </Group>
    </Stack>
  );
}

interface ChangeProps {
  call: ShownCall;
  sha: string;
  conversation: string;
  /** The draft that holds it. */
  branch: string | null;
}

/** What a call has changed, to be kept, taken back, or changed further in the entry itself. */
function Change({ call, sha, conversation, branch }: ChangeProps) {
  const { t } = useTranslation(['assistant', 'common']);
  const { organization, project } = usePlace();
  const undo = useCommand(UndoChange);
  const [isKept, setKept] = useState(false);
  const given = Object.fromEntries(linesOf(call.arguments) ?? []);
  const slug = given.slug ?? given.entry;
  const isUndone = call.undone_sha !== null;
  if (isUndone) return <p className={classes.note}>{t('undone')}</p>;
  return (
    <Stack gap="xs">
      {!isKept && <CommitChanges sha={sha} />}
      <FaultAlert fault={undo.fault} />
      <Group gap="xs">
        {isKept ? (
          <Button size="compact-xs" variant="subtle" leftSection={<IconEye size={14} />} onClick={() => setKept(false)}>
            {t('show_change')}
          </Button>
        ) : (
          <Button
            size="compact-xs"
            variant="default"
            leftSection={<IconCheck size={14} />}
            onClick={() => setKept(true)}
          >
            {t('keep')}
          </Button>
        )}
        <Button
          size="compact-xs"
          variant="default"
          leftSection={<IconArrowBackUp size={14} />}
          loading={undo.isRunning}
          onClick={() => undo.run({ organization, project, input: { conversation, call: call.id } })}
        >
          {t('undo')}
        </Button>
        {call.tool !== 'delete_entry' && given.collection && slug && branch !== null && (
          <Button
            size="compact-xs"
            variant="default"
            renderRoot={(props) => (
              <Link
                {...props}
                to="/p/$organization/$project/content/$collection/$"
                params={{ organization, project, collection: given.collection ?? '', _splat: slug }}
                search={{ draft: branch }}
              />
            )}
          >
            {t('edit')}
          </Button>
        )}
      </Group>
    </Stack>
  );
}

const icons = {
  pending: null,
  approved: null,
  running: null,
  waiting: IconAlertTriangle,
  done: IconCheck,
  failed: IconX,
  rejected: IconX,
  stopped: IconX,
} as const;

interface ToolCallProps {
  call: ShownCall;
  conversation: string;
  branch: string | null;
}

export function ToolCall({ call, conversation, branch }: ToolCallProps) {
  const { t } = useTranslation('assistant');
  const lines = linesOf(call.arguments);
  const Icon = icons[call.state];
  return (
    <div className={classes.call} data-state={call.state}>
      <details>
        <summary>
          <span className={classes.callIcon}>{Icon ? <Icon size={14} /> : <Loader size={12} />}</span>
          <span>{t(`tool_${call.tool}` as 'tool_get_entry', { defaultValue: call.tool })}</span>
          <span className={classes.subject}>
            <MarkedText text={subjectOf(lines)} />
          </span>
          <span className="unseen">{t(`state_${call.state}`)}</span>
        </summary>
        <dl className={classes.arguments}>
          {lines?.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <MarkedText text={value} />
              </dd>
            </div>
          ))}
        </dl>
        {lines === null && <pre>{call.arguments}</pre>}
        {call.result !== null && (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it may scroll, and so has to be reached by keyboard
          <pre tabIndex={0} className={classes.result}>
            <MarkedText text={call.result} />
          </pre>
        )}
      </details>
      {call.state === 'waiting' && <Consent call={call} conversation={conversation} />}
      {call.state === 'rejected' && <p className={classes.note}>{t('refused')}</p>}
      {call.commit_sha !== null && (
        <Change call={call} sha={call.commit_sha} conversation={conversation} branch={branch} />
      )}
    </div>
  );
}
