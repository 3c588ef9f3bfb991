/** Named looks at a collection: search, filters, order and columns, kept for oneself or for everybody in the project. */
import { ActionIcon, Button, Checkbox, Stack, Text, TextInput, UnstyledButton } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconTrash, IconUsers } from '@tabler/icons-react';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useQuery } from 'urql';
import { z } from 'zod/mini';
import {
  type CollectionFieldFragment,
  DeleteView,
  type SavedViewFragment,
  SavedViews as SavedViewsDocument,
  SaveView,
} from '../../documents.ts';
import { useCommand } from '../../lib/command.ts';
import { faultOf } from '../../lib/faults.ts';
import type { Place } from '../../lib/place.ts';
import { useCan } from '../../lib/viewer.tsx';
import { FaultAlert } from '../../parts/fault-alert.tsx';
import { MarkedText } from '../../parts/marked-text.tsx';
import { Waiting } from '../../shell/states.tsx';
import { isBuiltIn } from './columns.ts';
import { type CollectionSearch, collectionSearch } from './search-params.ts';
import classes from './views.module.css';

const columnsOf = z.catch(z.optional(z.array(z.string())), undefined);
/** What lists are sorted by beside fields. */
const sortable = ['title', 'draft', 'locale'];

interface Look {
  search: CollectionSearch;
  /** undefined: those that are shown stay. */
  columns: readonly string[] | undefined;
}

/** What a view shows of a collection as it is now. @returns also the names of fields that are gone, without which it is shown */
export function lookOf(query: unknown, fields: readonly { name: string }[]): Look & { missing: string[] } {
  const { filter, sort, after: _, page: __, ...search } = collectionSearch.parse(query);
  const columns = columnsOf.parse((query as { columns?: unknown }).columns);
  const names = new Set([...fields.map(({ name }) => name), ...sortable]);
  // Before the collection is known, nothing is known to be gone.
  const has = (name: string) => fields.length === 0 || isBuiltIn(name) || names.has(name);
  const sortField = sort?.replace(/^-/, '');
  const used = [...Object.keys(filter ?? {}), ...(sortField === undefined ? [] : [sortField]), ...(columns ?? [])];
  const kept = Object.entries(filter ?? {}).filter(([name]) => has(name));
  return {
    search: {
      ...search,
      sort: sortField !== undefined && has(sortField) ? sort : undefined,
      filter: kept.length > 0 ? Object.fromEntries(kept) : undefined,
    },
    columns: columns?.filter(has),
    missing: [...new Set(used.filter((name) => !has(name)))],
  };
}

export interface SavedViewsProps {
  place: Place;
  collection: string;
  /** What is shown now. */
  look: Look;
  fields: readonly CollectionFieldFragment[];
  onShow: (look: Look) => void;
}

export function SavedViews({ place: { organization, project }, collection, look, fields, onShow }: SavedViewsProps) {
  const { t } = useTranslation('content');
  const can = useCan(organization, project);
  const [name, setName] = useState('');
  const [isShared, setShared] = useState(false);
  const saving = useCommand(SaveView);
  const deleting = useCommand(DeleteView);
  const [{ data, error }, execute] = useQuery({
    query: SavedViewsDocument,
    variables: { organization, project, collection },
    requestPolicy: 'cache-and-network',
  });
  const refresh = () => execute({ requestPolicy: 'network-only' });
  const views = data?.project?.studio.views?.nodes;
  const show = ({ query }: SavedViewFragment) => {
    const { missing, ...found } = lookOf(query, fields);
    if (missing.length > 0)
      notifications.show({ message: t('view_fields_gone', { count: missing.length, names: missing.join(', ') }) });
    onShow(found);
  };
  const save = async (event: FormEvent) => {
    event.preventDefault();
    const { after: _, page: __, ...search } = look.search;
    const query = { ...search, columns: look.columns };
    const input = { name: name.trim(), collection, query, shared: isShared };
    const { fault } = await saving.run({ organization, project, input });
    if (fault) return;
    // What was typed since is the name of another view.
    setName((now) => (now === name ? '' : now));
    setShared(false);
    refresh();
  };
  const remove = async (view_id: number) => {
    const { fault } = await deleting.run({ organization, project, input: { view_id } });
    if (!fault) refresh();
  };
  const fault = saving.fault ?? deleting.fault ?? (error ? faultOf(error) : null);
  return (
    <Stack gap="sm" className={classes.views}>
      <FaultAlert fault={saving.fault?.fields.size ? null : fault} />
      {!views && !error && <Waiting rows={2} />}
      {views?.length === 0 && (
        <Text size="sm" c="dimmed">
          {t('no_views')}
        </Text>
      )}
      {views && views.length > 0 && (
        <ul className={classes.list} aria-label={t('views')}>
          {views.map((view) => (
            <li key={view.id}>
              <UnstyledButton className={classes.view} onClick={() => show(view)}>
                <MarkedText text={view.name} />
                {view.shared && (
                  <span className={classes.shared} title={t('view_shared_by', { name: view.owner_name })}>
                    <IconUsers size={14} aria-label={t('view_shared_by', { name: view.owner_name })} role="img" />
                  </span>
                )}
              </UnstyledButton>
              {(view.shared ? can('manage_studio') : view.own) && (
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  aria-label={t('delete_view', { name: view.name })}
                  disabled={deleting.isRunning}
                  onClick={() => void remove(view.id)}
                >
                  <IconTrash size={16} />
                </ActionIcon>
              )}
            </li>
          ))}
        </ul>
      )}
      <form onSubmit={save}>
        <Stack gap="xs">
          <TextInput
            label={t('view_name')}
            description={t('view_hint')}
            value={name}
            maxLength={80}
            onChange={(event) => setName(event.currentTarget.value)}
            error={saving.fault?.fields.get('/name') ?? saving.fault?.fields.get('/query')}
          />
          {can('manage_studio') && (
            <Checkbox
              size="xs"
              label={t('view_share')}
              checked={isShared}
              onChange={(event) => setShared(event.currentTarget.checked)}
            />
          )}
          <Button type="submit" variant="default" loading={saving.isRunning} disabled={name.trim() === ''}>
            {t('save_view')}
          </Button>
        </Stack>
      </form>
    </Stack>
  );
}
