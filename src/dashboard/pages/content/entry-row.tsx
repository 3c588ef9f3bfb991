import { Checkbox } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { memo } from 'react';
import { useTranslation } from 'react-i18next';
import type { CollectionEntryFragment, CollectionFieldFragment } from '../../documents.ts';
import type { Formats } from '../../lib/format.ts';
import type { Place } from '../../lib/place.ts';
import { MarkedText } from '../../parts/marked-text.tsx';
import classes from './content.module.css';
import { fieldText } from './field-text.ts';
import { Status } from './status.tsx';
import { cells, row } from './table-parts.tsx';

/** A column of the table; without a field it is one of the built-in ones. */
export interface Column {
  name: string;
  field: CollectionFieldFragment | undefined;
}

interface EntryRowProps {
  place: Place;
  collection: string;
  entry: CollectionEntryFragment;
  columns: readonly Column[];
  formats: Formats;
  /** Null for people who may not change entries. */
  isSelected: boolean | null;
  onSelect: (entries: readonly CollectionEntryFragment[], isSelected: boolean) => void;
}

/** Languages that are shown beside an entry's own; the rest is a number. */
const mostLanguages = 3;

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

/** An entry in the table. It renders again only for properties that are others: the page around it does so several times for each address. */
export const EntryRow = memo(function EntryRow({
  place,
  collection,
  entry,
  columns,
  formats,
  isSelected,
  onSelect,
}: EntryRowProps) {
  const { t } = useTranslation('content');
  const cell = ({ name, field }: Column) => {
    if (name === '@status') return <Status isDraft={entry.draft} />;
    if (name === '@language') return <Languages {...entry} />;
    if (name === '@updated')
      return (
        entry.updated_at != null && (
          <span title={formats.time(entry.updated_at)}>
            {formats.ago(entry.updated_at)} · <bdi>{entry.updated_by}</bdi>
          </span>
        )
      );
    const values = (entry.frontmatter ?? {}) as Record<string, unknown>;
    return field && <FieldText text={fieldText(field, values[name], t, formats)} />;
  };
  return (
    <tr {...row} data-selected={isSelected || undefined}>
      {isSelected !== null && (
        <td {...cells.cell} className={classes.check}>
          <Checkbox
            size="xs"
            aria-label={t('select', { title: entry.title.slice(0, 200) })}
            checked={isSelected}
            onChange={(event) => onSelect([entry], event.currentTarget.checked)}
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
        {(entry.error || (entry.faults && entry.faults.length > 0)) && <Faults entry={entry} />}
      </td>
      {columns.map((column) => (
        <td key={column.name} {...cells.cell} className={classes.fact}>
          {cell(column)}
        </td>
      ))}
    </tr>
  );
});

/** Letters of a value that a cell holds; the rest is in the entry. */
const longest = 200;

const FieldText = ({ text }: { text: string }) => (
  <span dir="auto" title={text.slice(0, 1_000)}>
    <MarkedText text={text.slice(0, longest)} />
  </span>
);

/** What is wrong with an entry; the list of invalid entries says all of it, others only that a file cannot be read. */
function Faults({ entry: { error, faults } }: { entry: CollectionEntryFragment }) {
  const { t } = useTranslation('content');
  const found = error
    ? [{ field: '', text: t('unreadable', { line: error.line, message: error.message }) }]
    : (faults ?? []).map(({ field, label, message }) => ({ field, text: [label, message].filter(Boolean).join(': ') }));
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
