import { Button, NativeSelect, Popover } from '@mantine/core';
import { IconAlertTriangle, IconBookmark, IconColumns3, IconFilter, IconX } from '@tabler/icons-react';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { CollectionEntryFragment, CollectionFieldFragment } from '../../documents.ts';
import { SearchField } from '../../parts/search-field.tsx';
import classes from './content.module.css';
import { fieldLabel } from './field-text.ts';
import type { SavedViewsProps } from './saved-views.tsx';
import type { CollectionSearch, Filter } from './search-params.ts';

const ColumnChoice = lazy(async () => ({ default: (await import('./column-choice.tsx')).ColumnChoice }));
const SavedViews = lazy(async () => ({ default: (await import('./saved-views.tsx')).SavedViews }));
const FilterForm = lazy(async () => ({ default: (await import('./filter-form.tsx')).FilterForm }));

interface ToolbarProps extends Pick<SavedViewsProps, 'place' | 'collection' | 'onShow'> {
  search: CollectionSearch;
  onChange: (part: Partial<CollectionSearch>) => void;
  fields: readonly CollectionFieldFragment[];
  /** How many entries are invalid. */
  invalid: number;
  entries: readonly CollectionEntryFragment[];
  columns: readonly string[];
  onColumns: (columns: readonly string[]) => void;
}

/** Languages that are seen on the page, and the one that is filtered by. */
function localesOf(entries: readonly CollectionEntryFragment[], chosen: string | undefined): string[] {
  const seen = entries.flatMap(({ locale, translations }) => [
    locale,
    ...(translations ?? []).map((each) => each.locale),
  ]);
  return [...new Set([...seen, chosen].filter((code) => code != null))].sort();
}

/** Which entries are shown, and what of them. */
export function Toolbar(props: ToolbarProps) {
  const { place, collection, search, onChange, fields, invalid, entries, columns, onColumns, onShow } = props;
  const { t } = useTranslation('content');
  const locales = localesOf(entries, search.locale);
  const isInvalidOnly = search.invalid === true;
  return (
    <>
      <search className={classes.toolbar}>
        <SearchField
          label={t('search_here')}
          value={search.q ?? ''}
          onSearch={(q) => onChange({ q: q || undefined })}
        />
        <NativeSelect
          aria-label={t('status')}
          value={search.status ?? ''}
          onChange={({ currentTarget: { value } }) =>
            onChange({ status: value === '' ? undefined : (value as 'draft' | 'published') })
          }
          data={[
            { value: '', label: t('any_status') },
            { value: 'published', label: t('status_published') },
            { value: 'draft', label: t('status_draft') },
          ]}
        />
        {locales.length > 0 && (
          <NativeSelect
            aria-label={t('language')}
            value={search.locale ?? ''}
            onChange={({ currentTarget: { value } }) => onChange({ locale: value || undefined })}
            data={[
              { value: '', label: t('any_language') },
              ...locales.map((code) => ({ value: code, label: code.toUpperCase() })),
            ]}
          />
        )}
        {(invalid > 0 || isInvalidOnly) && (
          <Button
            variant={isInvalidOnly ? 'light' : 'default'}
            aria-pressed={isInvalidOnly}
            leftSection={<IconAlertTriangle size={16} />}
            onClick={() => onChange({ invalid: isInvalidOnly ? undefined : true })}
          >
            {t('invalid_only', { count: invalid })}
          </Button>
        )}
        <Dropdown label={t('add_filter')} icon={<IconFilter size={16} />}>
          {(close) => (
            <FilterForm
              fields={fields}
              onAdd={(field, operator, value) => {
                onChange({ filter: { ...search.filter, [field]: { ...search.filter?.[field], [operator]: value } } });
                close();
              }}
            />
          )}
        </Dropdown>
        <Dropdown label={t('columns')} icon={<IconColumns3 size={16} />}>
          {() => <ColumnChoice fields={fields} columns={columns} onColumns={onColumns} />}
        </Dropdown>
        <Dropdown label={t('views')} icon={<IconBookmark size={16} />}>
          {(close) => (
            <SavedViews
              place={place}
              collection={collection}
              look={{ search, columns }}
              fields={fields}
              onShow={(look) => {
                onShow(look);
                close();
              }}
            />
          )}
        </Dropdown>
      </search>
      <Conditions fields={fields} filter={search.filter} onChange={(filter) => onChange({ filter })} />
    </>
  );
}

interface DropdownProps {
  label: string;
  icon: ReactNode;
  children: (close: () => void) => ReactNode;
}

function Dropdown({ label, icon, children }: DropdownProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <Popover
      opened={isOpen}
      onChange={setOpen}
      position="bottom-start"
      // The page does not get wider by it, while it finds its place.
      floatingStrategy="fixed"
      trapFocus
      returnFocus
      withinPortal
    >
      <Popover.Target>
        <Button variant="default" leftSection={icon} onClick={() => setOpen(!isOpen)}>
          {label}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={label}>
        <Suspense>{isOpen && children(() => setOpen(false))}</Suspense>
      </Popover.Dropdown>
    </Popover>
  );
}

interface ConditionsProps {
  fields: readonly CollectionFieldFragment[];
  filter: Filter | undefined;
  onChange: (filter: Filter | undefined) => void;
}

/** The filters of fields that hold now, each with a button that removes it. */
function Conditions({ fields, filter, onChange }: ConditionsProps) {
  const { t } = useTranslation('content');
  const conditions = Object.entries(filter ?? {}).flatMap(([field, tests]) =>
    Object.entries(tests).map(([operator, value]) => ({ field, operator, value })),
  );
  if (conditions.length === 0) return null;
  const labelOf = (name: string) => fieldLabel(fields.find((field) => field.name === name) ?? { name, label: null });
  const remove = (field: string, operator: string) => {
    const { [operator]: _, ...tests } = filter?.[field] ?? {};
    const { [field]: __, ...others } = filter ?? {};
    const next = Object.keys(tests).length > 0 ? { ...others, [field]: tests } : others;
    onChange(Object.keys(next).length > 0 ? next : undefined);
  };
  return (
    <ul className={classes.conditions} aria-label={t('filters')}>
      {conditions.map(({ field, operator, value }) => {
        const words =
          operator === 'exists'
            ? t(String(value) === 'true' ? 'is_set' : 'is_not_set')
            : `${t(`operator_${operator}` as 'operator_eq')} ${value}`;
        const text = `${labelOf(field)} ${words}`;
        return (
          <li key={`${field} ${operator}`} className={classes.condition}>
            <span dir="auto">{text}</span>
            <button type="button" aria-label={t('remove_filter', { text })} onClick={() => remove(field, operator)}>
              <IconX size={14} aria-hidden />
            </button>
          </li>
        );
      })}
    </ul>
  );
}
