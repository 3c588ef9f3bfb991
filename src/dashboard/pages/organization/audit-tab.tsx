import { Button, Menu, TextInput } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { OrganizationAuditQuery } from '../../documents.ts';
import { useFormats } from '../../lib/format.ts';
import { usePageQuery } from '../../lib/page-query.ts';
import { DateField } from '../../parts/date-field.tsx';
import { Mark } from '../../parts/mark.tsx';
import { Pager } from '../../parts/pager.tsx';
import { Failure, Notice, Waiting } from '../../shell/states.tsx';
import { type AuditFormat, exportAudit } from './audit-export.ts';
import classes from './audit-tab.module.css';
import { type AuditFilter, type TabProps, tabQueries } from './organization-query.ts';

type Answer = NonNullable<OrganizationAuditQuery['organization']>;
type Entry = NonNullable<Answer['audit']>['nodes'][number];

const fields = ['actor', 'action', 'subject'] as const;
const days = ['since', 'until'] as const;
const names = [...fields, ...days];

const tones = { ok: 'good', denied: 'warn', failed: 'bad' } as const;

function Filters({ search, onSearch }: Omit<TabProps, 'organization'>) {
  const { t } = useTranslation('organization');
  const [draft, setDraft] = useState<AuditFilter>(search);
  const isFiltered = names.some((name) => search[name] !== undefined);
  const apply = (next: AuditFilter) => {
    const filled = names.map((name) => [name, next[name]?.trim() || undefined]);
    onSearch({ ...Object.fromEntries(filled), after: undefined });
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    apply(draft);
  };
  const change = (name: (typeof names)[number], value: string) => setDraft((before) => ({ ...before, [name]: value }));
  return (
    <form className={classes.filters} onSubmit={submit}>
      {fields.map((name) => (
        <TextInput
          key={name}
          size="xs"
          label={t(`audit_${name}`)}
          placeholder={t(`audit_${name}_example`)}
          value={draft[name] ?? ''}
          onChange={(event) => change(name, event.currentTarget.value)}
        />
      ))}
      {days.map((name) => (
        <DateField
          key={name}
          size="xs"
          label={t(`audit_${name}`)}
          name={t(`audit_${name}`)}
          value={draft[name] ?? ''}
          onChange={(value) => change(name, value)}
        />
      ))}
      <Button type="submit" variant="default" size="xs">
        {t('filter')}
      </Button>
      {isFiltered && (
        <Button
          variant="subtle"
          size="xs"
          onClick={() => {
            setDraft({});
            apply({});
          }}
        >
          {t('clear_filter')}
        </Button>
      )}
    </form>
  );
}

function Export({ onExport }: { onExport: (format: AuditFormat) => void }) {
  const { t } = useTranslation('organization');
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="default" size="xs" leftSection={<IconDownload size={16} />}>
          {t('export')}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => onExport('ndjson')}>{t('export_ndjson')}</Menu.Item>
        <Menu.Item onClick={() => onExport('csv')}>{t('export_csv')}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

function EntryRow({ entry, people }: { entry: Entry; people: ReadonlyMap<string, string> }) {
  const { t } = useTranslation('organization');
  const { time } = useFormats();
  const { subject_type, subject_id, project } = entry;
  const changed = Object.keys((entry.changes ?? {}) as object);
  const subject = subject_id === null ? subject_type : `${subject_type}:${subject_id}`;
  return (
    <tr>
      <td className={classes.when}>
        <time dateTime={entry.at} title={entry.at}>
          {time(entry.at)}
        </time>
      </td>
      <td title={[entry.actor, entry.address].filter(Boolean).join(' · ')}>
        <bdi>{entry.actor_name ?? entry.actor}</bdi>
      </td>
      <td>
        <code>{entry.action}</code>
        {changed.length > 0 && <div className={classes.changes}>{changed.join(', ')}</div>}
      </td>
      <td title={subject}>
        <bdi>{people.get(subject) ?? subject}</bdi>
        {project !== null && <div className={classes.changes}>{t('in_project', { project })}</div>}
      </td>
      <td>
        <Mark tone={tones[entry.outcome]} title={t('request', { id: entry.request_id })}>
          {t(`outcome_${entry.outcome}`)}
        </Mark>
      </td>
    </tr>
  );
}

export function AuditTab({ organization, search, onSearch }: TabProps) {
  const { t } = useTranslation('organization');
  const query = tabQueries.audit(organization, search);
  const { data, fault, refresh } = usePageQuery(query);
  const audit = data?.organization?.audit;
  const people = new Map<string, string>(
    data?.organization?.members?.nodes.map(({ user_id, name, email }) => [`user:${user_id}`, name ?? email] as const),
  );
  const { actor, action, subject, since, until } = query.variables;
  const exportAs = (format: AuditFormat) =>
    exportAudit(organization, { actor, action, subject, since, until }, format, t('export_title', { format }));
  return (
    <>
      <div className={classes.bar}>
        <Filters key={names.map((name) => search[name]).join('\n')} search={search} onSearch={onSearch} />
        <Export onExport={(format) => void exportAs(format)} />
      </div>
      {fault && !audit && <Failure fault={fault} onRetry={refresh} />}
      {!fault && !audit && <Waiting rows={12} />}
      {audit?.nodes.length === 0 && <Notice title={t('no_audit')}>{t('no_audit_lead')}</Notice>}
      {audit && audit.nodes.length > 0 && (
        <>
          <div className={classes.frame}>
            <table className={classes.table}>
              <caption className="unseen">{t('audit')}</caption>
              <thead>
                <tr>
                  {(['when', 'actor', 'action', 'subject', 'outcome'] as const).map((name) => (
                    <th key={name} scope="col">
                      {t(`audit_${name}`)}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {audit.nodes.map((entry) => (
                  <EntryRow key={entry.id} entry={entry} people={people} />
                ))}
              </tbody>
            </table>
          </div>
          <Pager
            total={audit.total_count}
            after={search.after}
            page={audit.page_info}
            onGo={(after) => onSearch({ after })}
          />
        </>
      )}
    </>
  );
}
