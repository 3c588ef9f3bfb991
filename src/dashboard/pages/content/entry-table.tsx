import { Checkbox } from '@mantine/core';
import { IconArrowDown, IconArrowUp } from '@tabler/icons-react';
import { type CSSProperties, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { CollectionEntryFragment, CollectionFieldFragment } from '../../documents.ts';
import { useFormats } from '../../lib/format.ts';
import type { Place } from '../../lib/place.ts';
import { type BuiltIn, isBuiltIn } from './columns.ts';
import classes from './content.module.css';
import { type Column, EntryRow } from './entry-row.tsx';
import { fieldLabel, isSortable } from './field-text.ts';
import type { Selection } from './selection.ts';
import { cells, row, rows } from './table-parts.tsx';

interface EntryTableProps {
  place: Place;
  collection: string;
  label: string;
  fields: readonly CollectionFieldFragment[];
  entries: readonly CollectionEntryFragment[];
  columns: readonly string[];
  /** Entries in all. */
  total: number;
  sort: string | undefined;
  onSort: (sort: string | undefined) => void;
  /** Null for people who may not change entries. */
  selection: Selection | null;
  onSelect: (entries: readonly CollectionEntryFragment[], isSelected: boolean) => void;
}

/** What the server sorts the built-in columns by. */
const sortKeys: Record<BuiltIn, string> = { '@status': 'draft', '@updated': '@updated', '@language': 'locale' };

/** The server puts no more entries in order of their last commits. */
const mostByUpdated = 20_000;

function SortHeader({
  name,
  label,
  sort,
  onSort,
}: { name: string; label: string } & Pick<EntryTableProps, 'sort' | 'onSort'>) {
  const isUp = sort === name;
  const isDown = sort === `-${name}`;
  // What was updated last is of most interest, and so comes first at first.
  const order = name === '@updated' ? [undefined, `-${name}`, name] : [undefined, name, `-${name}`];
  return (
    <button
      type="button"
      className={classes.sort}
      onClick={() => onSort(order[(Math.max(0, order.indexOf(sort)) + 1) % order.length])}
    >
      {label}
      {isUp && <IconArrowUp size={14} aria-hidden />}
      {isDown && <IconArrowDown size={14} aria-hidden />}
    </button>
  );
}

/** A page of entries. Only its rows scroll beside the window, where there are many columns. */
export function EntryTable({
  place,
  collection,
  label,
  fields,
  entries,
  columns,
  total,
  sort,
  onSort,
  selection,
  onSelect,
}: EntryTableProps) {
  const { t } = useTranslation('content');
  const formats = useFormats();
  const hasLanguages = entries.some(({ locale }) => locale != null);
  const shown = useMemo(() => {
    const byName = new Map(fields.map((field) => [field.name, field]));
    return columns
      .map((name): Column => ({ name, field: byName.get(name) }))
      .filter(({ name, field }) => (name === '@language' ? hasLanguages : isBuiltIn(name) || field !== undefined));
  }, [columns, fields, hasLanguages]);
  const selected = entries.filter(({ slug }) => selection?.has(slug));
  const ariaSort = (name: string | null) =>
    name !== null && sort === name
      ? { 'aria-sort': 'ascending' as const }
      : sort === `-${name}`
        ? { 'aria-sort': 'descending' as const }
        : {};

  const header = ({ name, field }: Column) => {
    const text = isBuiltIn(name) ? t(name) : fieldLabel(field ?? { name, label: null });
    const isTooLong = name === '@updated' && total > mostByUpdated;
    const own = field && isSortable(field) ? name : null;
    const key = isTooLong ? null : isBuiltIn(name) ? sortKeys[name] : own;
    return (
      <th
        key={name}
        scope="col"
        {...cells.header}
        {...ariaSort(key)}
        className={name === '@updated' ? classes.wide : classes.medium}
      >
        {key === null ? (
          <span title={isTooLong ? t('too_many_to_sort', { most: formats.number(mostByUpdated) }) : undefined}>
            {text}
          </span>
        ) : (
          <SortHeader name={key} label={text} sort={sort} onSort={onSort} />
        )}
      </th>
    );
  };
  return (
    <div className={classes.frame}>
      <table
        className={classes.table}
        style={{ '--columns': Math.max(1, shown.length) } as CSSProperties}
        aria-label={label}
        {...cells.table}
      >
        <thead {...rows}>
          <tr {...row}>
            {selection && (
              <th scope="col" {...cells.header} className={classes.check}>
                <Checkbox
                  size="xs"
                  aria-label={t('select_all')}
                  checked={selected.length === entries.length}
                  indeterminate={selected.length > 0 && selected.length < entries.length}
                  onChange={(event) => onSelect(entries, event.currentTarget.checked)}
                />
              </th>
            )}
            <th scope="col" {...cells.header} {...ariaSort('title')} className={classes.titleColumn}>
              <SortHeader name="title" label={t('column_title')} sort={sort} onSort={onSort} />
            </th>
            {shown.map(header)}
          </tr>
        </thead>
        <tbody {...rows}>
          {entries.map((entry) => (
            <EntryRow
              key={entry.path}
              place={place}
              collection={collection}
              entry={entry}
              columns={shown}
              formats={formats}
              isSelected={selection?.has(entry.slug) ?? null}
              onSelect={onSelect}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}
