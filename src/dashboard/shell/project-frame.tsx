/** Around the pages of a project: where one is, in which version, and where one can go. */
import { ActionIcon, Button, Menu, UnstyledButton } from '@mantine/core';
import {
  IconArticle,
  IconBinaryTree,
  IconBuilding,
  IconChevronDown,
  IconFolder,
  IconGitBranch,
  IconHome,
  IconPhoto,
  IconSettings,
  IconSparkles,
  IconWorld,
} from '@tabler/icons-react';
import { Link, Outlet, useNavigate } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ProjectFrameQuery } from '../documents.ts';
import { loadTexts } from '../lib/i18n.ts';
import { useLive } from '../lib/live.ts';
import { usePageQuery } from '../lib/page-query.ts';
import { type Place, usePlace } from '../lib/place.ts';
import { useCan } from '../lib/viewer.tsx';
import { Frame } from './frame.tsx';
import classes from './project-frame.module.css';
import { projectQuery, shownDraftsQuery } from './project-query.ts';
import { Failure, Notice } from './states.tsx';
import { Strip } from './strip.tsx';

/** Loaded when it is first wanted. */
const Assistant = lazy(async () => {
  const [{ Assistant }] = await Promise.all([import('./assistant/assistant.tsx'), loadTexts('assistant')]);
  return { default: Assistant };
});
/** Whether this tab has the assistant open. */
const assistantKey = 'portico:assistant';

type Studio = NonNullable<ProjectFrameQuery['project']>['studio'];

const pages = [
  ['/p/$organization/$project', 'home', IconHome],
  ['/p/$organization/$project/content', 'content', IconArticle],
  ['/p/$organization/$project/media', 'media', IconPhoto],
  ['/p/$organization/$project/drafts', 'drafts', IconGitBranch],
  ['/p/$organization/$project/files', 'files', IconFolder],
  ['/p/$organization/$project/site', 'site', IconWorld],
  ['/p/$organization/$project/workflows', 'workflows', IconBinaryTree],
  ['/p/$organization/$project/settings', 'settings', IconSettings],
] as const;

function Navigation({ place, studio }: { place: Place; studio: Studio | undefined }) {
  const { t } = useTranslation('frame');
  const { organization, project, draft } = place;
  const params = { organization, project };
  const search = draft === undefined ? {} : { draft };
  return (
    <ul className={classes.links}>
      {pages.map(([to, name, Icon]) => (
        <li key={to}>
          <Link
            to={to}
            params={params}
            search={search}
            activeOptions={{ exact: name === 'home', includeSearch: false }}
            className={classes.link}
          >
            <Icon size={16} stroke={1.6} />
            {t(name)}
          </Link>
          {name === 'content' && (
            <ul className={classes.collections}>
              {studio?.collections?.nodes.map((collection) => (
                <li key={collection.name}>
                  <Link
                    to="/p/$organization/$project/content/$collection"
                    params={{ ...params, collection: collection.name }}
                    search={search}
                    activeOptions={{ includeSearch: false }}
                    className={classes.link}
                  >
                    <span className={classes.label}>{collection.label}</span>
                    <span className={classes.count}>{collection.entries_count}</span>
                  </Link>
                </li>
              ))}
            </ul>
          )}
        </li>
      ))}
      <li className={classes.apart}>
        <Link to="/o/$organization" params={{ organization }} search={{}} className={classes.link}>
          <IconBuilding size={16} stroke={1.6} />
          {t('organization')}
        </Link>
      </li>
    </ul>
  );
}

/** Which version of the content the pages show and change. */
function DraftSwitch({ place, studio }: { place: Place; studio: Studio | undefined }) {
  const { t } = useTranslation(['frame', 'common']);
  const navigate = useNavigate();
  const published = studio?.repository?.default_branch;
  const current = place.draft ?? published;
  const titleOf = (name: string) =>
    studio?.branches?.nodes.find((branch) => branch.name === name)?.draft?.title ?? name;
  const can = useCan(place.organization, place.project);
  const goToDrafts = (search: { new?: boolean }) =>
    navigate({ to: '/p/$organization/$project/drafts', params: place, search });
  const goTo = (branch: string) =>
    navigate({ to: '.', search: (before) => ({ ...before, draft: branch === published ? undefined : branch }) });
  return (
    <Menu position="bottom-start" width={280}>
      <Menu.Target>
        <UnstyledButton className={classes.draft} title={t('branch_title', { branch: current ?? '' })}>
          <span className={classes.draftName}>
            {place.draft === undefined ? t('published') : t('draft', { name: titleOf(place.draft) })}
          </span>
          <IconChevronDown size={14} />
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown className={classes.menu}>
        {studio?.branches?.nodes.map(({ name, default: isDefault }) => (
          <Menu.Item key={name} onClick={() => goTo(name)} aria-current={name === current || undefined}>
            {isDefault ? t('published') : titleOf(name)}
          </Menu.Item>
        ))}
        <Menu.Divider />
        {can('edit_studio') && <Menu.Item onClick={() => goToDrafts({ new: true })}>{t('common:new_draft')}</Menu.Item>}
        <Menu.Item onClick={() => goToDrafts({})}>{t('all_drafts')}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

/** The page below stays: what was typed there is not lost. */
function DraftGone({ place }: { place: Place }) {
  const { t } = useTranslation('frame');
  const navigate = useNavigate();
  const leave = () => navigate({ to: '.', search: (before) => ({ ...before, draft: undefined }) });
  const action = (
    <Button variant="default" onClick={leave}>
      {t('to_published')}
    </Button>
  );
  return (
    <Notice title={t('draft_gone')} action={action} role="alert">
      {t('draft_gone_lead', { name: place.draft })}
    </Notice>
  );
}

export function ProjectFrame(): ReactNode {
  const { t } = useTranslation('frame');
  const place = usePlace();
  const { data, fault, refresh } = usePageQuery(projectQuery(place));
  const { refresh: refreshPreviews } = usePageQuery(shownDraftsQuery(place));
  // A commit, a draft or a merge may change what is counted here, and a deployment what is live.
  useLive(['branch', 'deployment', ...(place.draft === undefined ? [] : [`branch:${place.draft}`])], () => {
    refresh();
    refreshPreviews();
  });
  const project = data?.project;
  const studio = project?.studio;
  const bar = (
    <>
      <nav aria-label={t('where')} className={classes.where}>
        <Link to="/o/$organization" params={place}>
          {place.organization}
        </Link>
        <span aria-hidden="true">/</span>
        <Link to="/p/$organization/$project" params={place}>
          {project?.name ?? place.project}
        </Link>
      </nav>
      {studio && <DraftSwitch place={place} studio={studio} />}
    </>
  );
  const [hasAssistant, setAssistant] = useState(() => sessionStorage.getItem(assistantKey) === 'open');
  const showAssistant = (isOpen: boolean) => {
    setAssistant(isOpen);
    sessionStorage.setItem(assistantKey, isOpen ? 'open' : 'closed');
  };
  const toggle = (
    <ActionIcon
      variant={hasAssistant ? 'light' : 'subtle'}
      color="gray"
      aria-label={t('assistant')}
      title={t('assistant')}
      aria-expanded={hasAssistant}
      onClick={() => showAssistant(!hasAssistant)}
    >
      <IconSparkles size={18} />
    </ActionIcon>
  );
  // It is undefined in the frame of the published version, which stays until that of the draft is there.
  const isGone = place.draft !== undefined && studio?.branch === null;
  return (
    <Frame
      bar={bar}
      navigation={<Navigation place={place} studio={studio} />}
      tools={studio && toggle}
      aside={
        studio && hasAssistant ? (
          <Suspense>
            <Assistant key={`${place.organization}/${place.project}`} onClose={() => showAssistant(false)} />
          </Suspense>
        ) : undefined
      }
      strip={studio ? <Strip place={place} studio={studio} /> : !fault && <div className={classes.strip} />}
    >
      {project && fault?.code === 'NETWORK' && (
        <p className={classes.cutOff} role="status">
          {fault.message}
        </p>
      )}
      {isGone && <DraftGone place={place} />}
      {fault && !project ? <Failure fault={fault} onRetry={refresh} order={1} isProject /> : <Outlet />}
    </Frame>
  );
}
