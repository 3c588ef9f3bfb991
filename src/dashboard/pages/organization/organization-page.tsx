/** An organisation: its projects, who works in it, its tokens, what was done, and what holds for all of it. */
import { Tabs, Title } from '@mantine/core';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import type { FunctionComponent } from 'react';
import { useTranslation } from 'react-i18next';
import { usePageQuery } from '../../lib/page-query.ts';
import { useCan } from '../../lib/viewer.tsx';
import { Frame } from '../../shell/frame.tsx';
import { Failure } from '../../shell/states.tsx';
import { AuditTab } from './audit-tab.tsx';
import { MembersTab } from './members-tab.tsx';
import classes from './organization.module.css';
import { headQuery, type OrganizationSearch, type Tab, type TabProps, tabs } from './organization-query.ts';
import { OrganizationSettingsTab } from './organization-settings-tab.tsx';
import { ProjectsTab } from './projects-tab.tsx';
import { TokensTab } from './tokens-tab.tsx';

const panels: Record<Tab, FunctionComponent<TabProps>> = {
  projects: ProjectsTab,
  members: MembersTab,
  tokens: TokensTab,
  audit: AuditTab,
  settings: OrganizationSettingsTab,
};

/** Tabs whose content takes `manage_organization`. */
const managed: ReadonlySet<Tab> = new Set(['tokens', 'audit', 'settings']);

export function OrganizationPage() {
  const { t } = useTranslation('organization');
  const { organization } = useParams({ from: '/inside/o/$organization' });
  const search = useSearch({ from: '/inside/o/$organization' });
  const navigate = useNavigate();
  const can = useCan(organization);
  const { data, fault, refresh } = usePageQuery(headQuery(organization));
  const tab = search.tab ?? 'projects';
  const Panel = panels[tab];
  const goTo = (next: OrganizationSearch) =>
    navigate({ to: '/o/$organization', params: { organization }, search: next });
  const shown = tabs.filter((name) => name === tab || !managed.has(name) || can('manage_organization'));
  return (
    <Frame>
      <div className={classes.page}>
        {fault && !data?.organization ? (
          <Failure fault={fault} onRetry={refresh} order={1} />
        ) : (
          <>
            <Title order={1} dir="auto" className={classes.title}>
              {data?.organization?.name ?? organization}
            </Title>
            <Tabs
              value={tab}
              keepMounted={false}
              onChange={(next) => goTo({ tab: next === 'projects' ? undefined : (next as Tab) })}
            >
              <Tabs.List aria-label={t('parts')}>
                {shown.map((name) => (
                  <Tabs.Tab key={name} value={name}>
                    {t(name)}
                  </Tabs.Tab>
                ))}
              </Tabs.List>
              <Tabs.Panel value={tab} pt="lg">
                <Panel
                  organization={organization}
                  search={search}
                  onSearch={(change) => goTo({ ...search, ...change })}
                />
              </Tabs.Panel>
            </Tabs>
          </>
        )}
      </div>
    </Frame>
  );
}
