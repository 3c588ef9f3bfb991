/**
 * At which addresses entries are published: patterns that the site's own configuration gives, or that are written here, and a try-out of those that
 * are saved. A pattern with a source follows the configuration; one that is changed here is taken as it is written.
 */
import {
  ActionIcon,
  Alert,
  Button,
  Group,
  Select,
  Stack,
  Switch,
  Text,
  TextInput,
  VisuallyHidden,
} from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconArrowDown, IconArrowUp, IconTrash } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import {
  DetectRoutes,
  type DetectRoutesMutation,
  EntryAddress,
  EntryAt,
  FirstMatches,
  type RouteRowFragment,
  UpdateRepository,
} from '../../documents.ts';
import { client } from '../../lib/client.ts';
import { useCommand } from '../../lib/command.ts';
import { type Fault, faultOf } from '../../lib/faults.ts';
import { useCan } from '../../lib/viewer.tsx';
import { CommandForm } from '../../parts/command-form.tsx';
import { useCollectionLabel } from '../../parts/entry-name.tsx';
import { FaultAlert } from '../../parts/fault-alert.tsx';
import { Mark } from '../../parts/mark.tsx';
import { Row, Rows } from '../../parts/rows.tsx';
import { Warnings } from '../../parts/warnings.tsx';
import classes from './routes-section.module.css';
import type { SectionProps } from './settings-query.ts';

type Detected = NonNullable<DetectRoutesMutation['detectRoutePatterns']>;
type Pattern = Omit<RouteRowFragment, '__typename'>;
interface Draft extends Pattern {
  /** Of the row while it is edited. */
  key: number;
}

/** A row whose text was changed no longer follows the site's configuration. */
const written = { source: null, confidence: 1, content_glob: '' };

/** Why a pattern does less than it seems to, as a key of the catalogue; null when nothing is wrong with it. */
function problemOf(drafts: readonly Draft[], at: number, collections: readonly string[]) {
  const { collection, locale, url_pattern } = drafts[at] as Draft;
  const isHidden = drafts
    .slice(0, at)
    .some((before) => before.collection === collection && (before.locale === null || before.locale === locale));
  if (isHidden) return 'route_hidden';
  if (collection !== '' && !collections.includes(collection)) return 'route_no_collection';
  return url_pattern !== '' && !/\{(?!locale\}|year\}|month\}|day\})[^{}]+\}/.test(url_pattern) ? 'route_shared' : null;
}

interface EditorProps extends SectionProps {
  collections: readonly string[];
  /** What was found, when that is to be changed before it is saved. */
  from: readonly Pattern[];
  onClose: () => void;
}

/** Patterns as rows of fields; the first that fits an entry counts, so their order does. */
function Editor({ place, collections, from, onChanged, onClose }: EditorProps) {
  const { t } = useTranslation(['settings', 'common']);
  const labelOf = useCollectionLabel();
  const { run, isRunning, fault } = useCommand(UpdateRepository);
  const [next, setNext] = useState(from.length);
  const [drafts, setDrafts] = useState<readonly Draft[]>(() => from.map((pattern, key) => ({ ...pattern, key })));
  const change = (key: number, part: Partial<Pattern>) =>
    setDrafts(drafts.map((draft) => (draft.key === key ? { ...draft, ...written, ...part } : draft)));
  const move = (at: number, by: number) => {
    const moved = [...drafts];
    moved.splice(at + by, 0, ...moved.splice(at, 1));
    setDrafts(moved);
  };
  const add = () => {
    const [collection = ''] = collections;
    const rule = { index_rule: 'directory', trailing_slash: true } as const;
    setDrafts([...drafts, { ...written, ...rule, collection, url_pattern: '', locale: null, key: next }]);
    setNext(next + 1);
  };
  const save = async () => {
    const route_patterns = drafts.map(({ locale, source, ...draft }) => ({
      collection: draft.collection,
      content_glob: draft.content_glob,
      url_pattern: draft.url_pattern,
      index_rule: draft.index_rule,
      trailing_slash: draft.trailing_slash,
      confidence: draft.confidence,
      ...(locale !== null && { locale }),
      source: source && { path: source.path, ...(source.line !== null && { line: source.line }) },
    }));
    const outcome = await run({ ...place, input: { route_patterns } });
    if (outcome.fault) return;
    notifications.show({ message: t('routes_saved') });
    onChanged();
    onClose();
  };
  const errorOf = (at: number, name: string) => fault?.fields.get(`/route_patterns/${at}/${name}`);
  const beside = drafts.flatMap((_, at) =>
    ['collection', 'url_pattern', 'locale'].map((name) => `/route_patterns/${at}/${name}`),
  );
  return (
    <CommandForm
      submit={t('common:save')}
      onSubmit={() => void save()}
      isRunning={isRunning}
      fault={fault}
      beside={beside}
      onCancel={onClose}
    >
      <Text size="sm">{t('route_hint')}</Text>
      {drafts.map((draft, at) => {
        const name = t('route', { number: at + 1 });
        const problem = problemOf(drafts, at, collections);
        return (
          <fieldset key={draft.key} className={classes.row}>
            <legend>
              <Group gap="xs">
                {name}
                {draft.source && <Mark title={draft.source.path}>{t('route_found')}</Mark>}
              </Group>
            </legend>
            <div className={classes.fields}>
              <Select
                label={t('route_collection')}
                data={[...new Set([...collections, draft.collection])]
                  .filter(Boolean)
                  .map((value) => ({ value, label: labelOf(value) }))}
                value={draft.collection}
                onChange={(value) => value && change(draft.key, { collection: value })}
                error={errorOf(at, 'collection')}
              />
              <TextInput
                label={t('route_pattern')}
                placeholder="/posts/{year}/{slug}/"
                value={draft.url_pattern}
                onChange={(event) => change(draft.key, { url_pattern: event.currentTarget.value })}
                error={errorOf(at, 'url_pattern')}
                spellCheck={false}
                autoCapitalize="off"
              />
              <TextInput
                label={t('route_locale')}
                placeholder={t('route_any_locale')}
                value={draft.locale ?? ''}
                onChange={(event) => change(draft.key, { locale: event.currentTarget.value.trim() || null })}
                error={errorOf(at, 'locale')}
                spellCheck={false}
                autoCapitalize="off"
              />
            </div>
            {problem && (
              <Text size="sm" c="var(--p-warn)" role="status">
                {t(problem)}
              </Text>
            )}
            <Group justify="space-between" gap="xs">
              <Switch
                label={t('route_index')}
                checked={draft.index_rule === 'directory'}
                onChange={(event) =>
                  change(draft.key, { index_rule: event.currentTarget.checked ? 'directory' : 'file' })
                }
              />
              <Group gap={4}>
                <ActionIcon
                  variant="default"
                  aria-label={t('route_up', { name })}
                  disabled={at === 0}
                  onClick={() => move(at, -1)}
                >
                  <IconArrowUp size={16} />
                </ActionIcon>
                <ActionIcon
                  variant="default"
                  aria-label={t('route_down', { name })}
                  disabled={at === drafts.length - 1}
                  onClick={() => move(at, 1)}
                >
                  <IconArrowDown size={16} />
                </ActionIcon>
                <ActionIcon
                  variant="default"
                  aria-label={t('route_remove', { name })}
                  onClick={() => setDrafts(drafts.filter(({ key }) => key !== draft.key))}
                >
                  <IconTrash size={16} />
                </ActionIcon>
              </Group>
            </Group>
          </fieldset>
        );
      })}
      <div>
        <Button variant="default" onClick={add}>
          {t('route_add')}
        </Button>
      </div>
    </CommandForm>
  );
}

interface Match {
  collection: { name: string } | null;
  slug: string;
  path: string;
  url: string | null;
}

/** What the saved patterns make of an address, of an entry, and of the first entries of each collection. */
function TryOut({ place, patterns }: Pick<SectionProps, 'place'> & { patterns: readonly Pattern[] }) {
  const { t } = useTranslation('settings');
  const [text, setText] = useState('');
  const [matches, setMatches] = useState<readonly Match[] | null>(null);
  const [fault, setFault] = useState<Fault | null>(null);
  const [isRunning, setRunning] = useState(false);
  const options = { requestPolicy: 'network-only' } as const;
  const find = async (): Promise<readonly Match[]> => {
    const typed = text.trim();
    if (typed === '') {
      const names = [...new Set(patterns.map(({ collection }) => collection))].slice(0, 20);
      const answers = await Promise.all(
        names.map((collection) => client.query(FirstMatches, { ...place, collection }, options).toPromise()),
      );
      return answers.flatMap(({ data }) => data?.project?.studio.collection?.entries?.nodes ?? []);
    }
    if (/^(\/|https?:)/.test(typed)) {
      const { data, error } = await client.query(EntryAt, { ...place, url: typed }, options).toPromise();
      if (error) setFault(faultOf(error));
      return [data?.project?.studio.entry_at ?? []].flat();
    }
    const [collection = '', ...rest] = typed.split('/');
    const variables = { ...place, collection, entry: rest.join('/') };
    const { data, error } = await client.query(EntryAddress, variables, options).toPromise();
    const refusal = error && faultOf(error);
    if (refusal && refusal.code !== 'NOT_FOUND') setFault(refusal);
    return [data?.project?.studio.entry ?? []].flat();
  };
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setRunning(true);
    setFault(null);
    setMatches(await find());
    setRunning(false);
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <Group align="flex-end" gap="xs">
          <TextInput
            className={classes.tried ?? ''}
            label={t('try_label')}
            description={t('try_hint')}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            spellCheck={false}
            autoCapitalize="off"
          />
          <Button type="submit" variant="default" loading={isRunning}>
            {t('try')}
          </Button>
        </Group>
        <FaultAlert fault={fault} />
        <VisuallyHidden role="status">{matches && t('try_found', { count: matches.length })}</VisuallyHidden>
        {matches?.length === 0 && !fault && <Alert color="yellow">{t('try_nothing')}</Alert>}
        {matches && matches.length > 0 && (
          <Rows label={t('try_results')}>
            {matches.map(({ collection, slug, path, url }) => (
              <Row
                key={path}
                title={url === null ? t('try_no_address') : <code>{url}</code>}
                detail={
                  <Link
                    to="/p/$organization/$project/content/$collection/$"
                    params={{ ...place, collection: collection?.name ?? '', _splat: slug }}
                  >
                    {path}
                  </Link>
                }
              />
            ))}
          </Rows>
        )}
      </Stack>
    </form>
  );
}

export function RoutesSection({
  place,
  repository,
  onChanged,
  collections,
}: SectionProps & { collections: readonly string[] }) {
  const { t } = useTranslation(['settings', 'common']);
  const labelOf = useCollectionLabel();
  const can = useCan(place.organization, place.project);
  const [detected, setDetected] = useState<Detected | null>(null);
  const [isEditing, setEditing] = useState(false);
  const { run, isRunning, fault } = useCommand(DetectRoutes);
  const detect = async (save: boolean) => {
    const { data } = await run({ ...place, input: { save } });
    const found = data?.detectRoutePatterns;
    if (!found) return;
    if (!save) return setDetected(found);
    setDetected(null);
    notifications.show({ message: t('routes_saved') });
    onChanged();
  };
  const saved = repository.route_patterns ?? [];
  const patterns: readonly Pattern[] = detected?.patterns ?? saved;
  const framework = detected?.framework;
  if (isEditing) {
    const close = () => {
      setEditing(false);
      setDetected(null);
    };
    return <Editor {...{ place, repository, onChanged, collections }} from={patterns} onClose={close} />;
  }
  return (
    <>
      <FaultAlert fault={fault} />
      {detected && (
        <Text role="status">
          {framework ? t('framework', { name: framework.id, version: framework.version ?? '' }) : t('no_framework')}
        </Text>
      )}
      {patterns.length === 0 && <Text c="dimmed">{t(detected ? 'no_routes_found' : 'no_routes')}</Text>}
      {patterns.length > 0 && (
        <Rows label={t('routes')}>
          {patterns.map(({ collection, url_pattern, locale, source }) => (
            <Row
              key={`${collection} ${url_pattern} ${locale}`}
              title={<code>{url_pattern}</code>}
              marks={source && <Mark title={source.path}>{t('route_found')}</Mark>}
              detail={[labelOf(collection), locale].filter(Boolean).join(' · ')}
            />
          ))}
        </Rows>
      )}
      <Warnings warnings={detected?.warnings ?? []} />
      {detected && detected.samples.length > 0 && (
        <Rows label={t('try_results')}>
          {detected.samples.slice(0, 5).map(({ path, url }) => (
            <Row key={path} title={<code>{url}</code>} detail={path} />
          ))}
        </Rows>
      )}
      {can('manage_studio') && (
        <Group gap="xs">
          <Button variant="default" loading={isRunning} onClick={() => detect(false)}>
            {t('detect')}
          </Button>
          <Button variant="default" onClick={() => setEditing(true)}>
            {t('edit_routes')}
          </Button>
          {detected && detected.patterns.length > 0 && (
            <>
              <Button loading={isRunning} onClick={() => detect(true)}>
                {t('keep_routes')}
              </Button>
              <Button variant="subtle" onClick={() => setDetected(null)}>
                {t('discard_routes')}
              </Button>
            </>
          )}
        </Group>
      )}
      {!detected && saved.length > 0 && <TryOut place={place} patterns={saved} />}
    </>
  );
}
