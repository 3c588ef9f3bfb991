import { Alert, Button, Group, Modal, Stack, Text, UnstyledButton } from '@mantine/core';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useQuery } from 'urql';
import { BringBackEntry, EntryHistory, type EntryHistoryQuery } from '../../documents.ts';
import { send } from '../../lib/command.ts';
import type { Fault } from '../../lib/faults.ts';
import { useFormats } from '../../lib/format.ts';
import { Waiting } from '../../shell/states.tsx';
import { ContentDiff } from './content-diff.tsx';
import type { Editor } from './editor.ts';
import { contentOf } from './entry-query.ts';
import classes from './panel.module.css';
import type { Content } from './rebase.ts';
import { readEntry, type Target } from './save.ts';

type Entry = NonNullable<NonNullable<NonNullable<EntryHistoryQuery['project']>['studio']>['entry']>;
type Version = NonNullable<Entry['history']>['nodes'][number];

interface VersionsProps {
  editor: Editor;
  target: Target;
  /** JSON Schema of the collection. */
  schema: unknown;
  /** Whether a version may be brought back by a commit of its own; otherwise it comes into the form. */
  mayCommit: boolean;
}

/** One version beside what is in the form now, and the way to bring it back. */
function VersionDialog({
  editor,
  target,
  schema,
  mayCommit,
  version,
  onClose,
}: VersionsProps & { version: Version; onClose: () => void }) {
  const { t } = useTranslation(['entry', 'common']);
  const formats = useFormats();
  const { place, collection, slug, branch } = target;
  const [content, setContent] = useState<Content | null>(null);
  const [isWorking, setWorking] = useState(false);
  const [fault, setFault] = useState<Fault | string | null>(null);
  useEffect(() => {
    readEntry(place, { collection, slug: slug ?? '', ref: version.sha }, editor.isRaw).then(
      (entry) => (entry ? setContent(contentOf(entry)) : setFault(t('version_gone'))),
      (error: Fault) => setFault(error.code === 'NOT_FOUND' ? t('version_gone') : error),
    );
  }, [place, collection, slug, version.sha, editor, t]);
  const bringBack = async () => {
    if (content === null) return;
    if (!mayCommit || editor.isChanged()) {
      editor.show(content);
      return onClose();
    }
    setWorking(true);
    const { organization, project } = place;
    const { data, fault } = await send(BringBackEntry, {
      organization,
      project,
      input: {
        collection,
        slug,
        commit: version.sha,
        mode: 'restore',
        branch: branch?.name ?? null,
        sha: editor.sha,
      },
    });
    setWorking(false);
    const entry = data?.revertEntry?.entry;
    if (fault) return setFault(fault);
    if (entry) await editor.discard(entry.sha, contentOf(entry));
    onClose();
  };
  const when = formats.time(version.author.date);
  return (
    <Modal opened onClose={onClose} title={t('version_of', { time: when })} size="xl">
      <Stack>
        <Text size="sm" c="dimmed">
          {t('version_lead', { name: version.author.name })}
        </Text>
        {content === null && fault === null && <Waiting rows={4} />}
        {fault && (
          <Alert color="red" role="alert">
            {typeof fault === 'string' ? fault : fault.message}
          </Alert>
        )}
        {content && <ContentDiff before={content} after={editor.content()} schema={schema} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t('common:close')}
          </Button>
          <Button onClick={bringBack} disabled={content === null} loading={isWorking}>
            {t('bring_back')}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

/** What the entry was, the newest version first. */
export function Versions(props: VersionsProps) {
  const { t } = useTranslation(['entry', 'common']);
  const formats = useFormats();
  const { place, collection, slug, branch } = props.target;
  const { organization, project } = place;
  const [after, setAfter] = useState<string | null>(null);
  const [earlier, setEarlier] = useState<Version[]>([]);
  const [open, setOpen] = useState<Version | null>(null);
  const variables = { organization, project, collection, slug: slug ?? '', branch: branch?.name ?? null, after };
  const [{ data, fetching }] = useQuery({ query: EntryHistory, variables });
  const history = data?.project?.studio?.entry?.history;
  const versions = [...earlier, ...(history?.nodes ?? [])];
  if (fetching && versions.length === 0) return <Waiting rows={6} />;
  if (versions.length === 0) return <Text c="dimmed">{t('no_versions')}</Text>;
  const { has_next_page: hasMore = false, end_cursor: end = null } = history?.page_info ?? {};
  return (
    <>
      <ul className={classes.rows}>
        {versions.map((version) => (
          <li key={version.sha}>
            <UnstyledButton className={classes.row} onClick={() => setOpen(version)} title={version.sha}>
              <span dir="auto">{version.message.split('\n', 1)[0]}</span>
              <small>
                {version.author.name} · <time dateTime={version.author.date}>{formats.ago(version.author.date)}</time>
              </small>
            </UnstyledButton>
          </li>
        ))}
      </ul>
      {hasMore && (
        <Button
          variant="subtle"
          size="compact-sm"
          mt="sm"
          onClick={() => {
            setEarlier(versions);
            setAfter(end);
          }}
        >
          {t('common:more')}
        </Button>
      )}
      {open && <VersionDialog {...props} version={open} onClose={() => setOpen(null)} />}
    </>
  );
}
