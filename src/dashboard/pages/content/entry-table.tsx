import { Checkbox } from '@mantine/core';
import { IconAlertTriangle, IconArrowDown, IconArrowUp } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import type { CollectionEntryFragment, CollectionFieldFragment } from '../../documents.ts';
import { useFormats } from '../../lib/format.ts';
import type { Place } from '../../lib/place.ts';
import { MarkedText } from '../../parts/marked-text.tsx';
import { type BuiltIn, isBuiltIn } from './columns.ts';
import classes from './content.module.css';
import { FieldText, fieldLabel, isSortable } from './field-text.tsx';
import { type Selection, select } from './selection.ts';
import { Status } from './status.tsx';
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
  onSelect: (selection: Selection) => void;
}

/** Languages that are shown beside an entry's own; the rest is a number. */
const mostLanguages = 3;

/** What the server sorts the built-in columns by. */
const sortKeys: Record<BuiltIn, string> = { '@status': 'draft', '@updated': '@updated', '@language': 'locale' };

/** The server puts no more entries in order of their last commits. */
const mostByUpdated = 20_000;

function Languages({ locale, translations }: Pick<CollectionEntryFragment, 'locale' | 'translations'>) {
  const others = (translations ?? []).flatMap((each) => each.locale ?? []);
  const more = others.length - mostLanguages;
  return (
    <span title={[locale, ...others].filter(Boolean).join(', ')}>
      <strong className={classes.language}>{locale?.toUpperCase()}</strong>
      {others.slice(0, mostLanguages).map((code) => ` · ${code.toUpperCase()}`)}
      {more > 0 && ` +${more}`}
    </span>
  );
}

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
  const { ago, number, time } = useFormats();
  const byName = new Map(fields.map((field) => [field.name, field]));
  const hasLanguages = entries.some(({ locale }) => locale != null);
  const shown = columns.filter((name) => (name === '@language' ? hasLanguages : isBuiltIn(name) || byName.has(name)));
  const selected = entries.filter(({ slug }) => selection?.has(slug));
  const ariaSort = (name: string | null) =>
    name !== null && sort === name
      ? { 'aria-sort': 'ascending' as const }
      : sort === `-${name}`
        ? { 'aria-sort': 'descending' as const }
        : {};

  const header = (name: string) => {
    const field = byName.get(name);
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
          <span title={isTooLong ? t('too_many_to_sort', { most: number(mostByUpdated) }) : undefined}>{text}</span>
        ) : (
          <SortHeader name={key} label={text} sort={sort} onSort={onSort} />
        )}
      </th>
    );
  };
  const cell = (name: string, entry: CollectionEntryFragment) => {
    if (name === '@status') return <Status isDraft={entry.draft} />;
    if (name === '@language') return <Languages {...entry} />;
    if (name === '@updated')
      return (
        entry.updated_at != null && (
          <span title={time(entry.updated_at)}>
            {ago(entry.updated_at)} · <bdi>{entry.updated_by}</bdi>
          </span>
        )
      );
    const field = byName.get(name);
    const values = (entry.frontmatter ?? {}) as Record<string, unknown>;
    return field && <FieldText field={field} value={values[name]} />;
  };
  return (
    <div className={classes.frame}>
      <table className={classes.table} aria-label={label} {...cells.table}>
        <thead {...rows}>
          <tr {...row}>
            {selection && (
              <th scope="col" {...cells.header} className={classes.check}>
                <Checkbox
                  size="xs"
                  aria-label={t('select_all')}
                  checked={selected.length === entries.length}
                  indeterminate={selected.length > 0 && selected.length < entries.length}
                  onChange={(event) => onSelect(select(selection, entries, event.currentTarget.checked))}
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
            <tr key={entry.path} {...row} data-selected={selection?.has(entry.slug) || undefined}>
              {selection && (
                <td {...cells.cell} className={classes.check}>
                  <Checkbox
                    size="xs"
                    aria-label={t('select', { title: entry.title.slice(0, 200) })}
                    checked={selection.has(entry.slug)}
                    onChange={(event) => onSelect(select(selection, [entry], event.currentTarget.checked))}
                  />
                </td>
              )}
              <td {...cells.cell} className={classes.main}>
                <Link
                  to="/p/$organization/$project/content/$collection/$"
                  params={{ ...place, collection, _splat: entry.slug }}
                  search={{ draft: place.draft }}
                  title={entry.slug}
                  dir="auto"
                  lang={entry.locale ?? undefined}
                >
                  <MarkedText text={entry.title} />
                </Link>
                <Faults entry={entry} />
              </td>
              {shown.map((name) => (
                <td key={name} {...cells.cell} className={classes.fact}>
                  {cell(name, entry)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** What is wrong with an entry; the list of invalid entries says all of it, others only that a file cannot be read. */
function Faults({ entry: { error, faults } }: { entry: CollectionEntryFragment }) {
  const { t } = useTranslation('content');
  const found = error
    ? [{ field: '', text: t('unreadable', { line: error.line, message: error.message }) }]
    : (faults ?? []).map(({ field, label, message }) => ({ field, text: [label, message].filter(Boolean).join(': ') }));
  if (found.length === 0) return null;
  return (
    <ul className={classes.faults} aria-label={t('faults')}>
      {found.map(({ field, text }) => (
        <li key={`${field} ${text}`} title={field || undefined}>
          <IconAlertTriangle size={14} aria-hidden />
          <span dir="auto">{text}</span>
        </li>
      ))}
    </ul>
  );
}
