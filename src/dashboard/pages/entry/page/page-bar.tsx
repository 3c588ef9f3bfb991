/** Above the page of an entry: a list of its pieces, for the keyboard, and the state of the page in words. */
import { Button, Select, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { memo, type Ref, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { StartDeployment } from '../../../documents.ts';
import { useCommand } from '../../../lib/command.ts';
import { usePlace } from '../../../lib/place.ts';
import { useCan } from '../../../lib/viewer.tsx';
import { useDraftPreviews } from '../../site/preview-draft.tsx';
import classes from './page.module.css';
import type { ShownPage } from './site-page.ts';

interface PieceListProps {
  list: Ref<HTMLInputElement>;
  /** Pieces that can be opened. */
  pieces: readonly { id: number; kind: string; text: string }[];
  opened: number | null;
  onOpen: (id: number | null) => void;
  /** Scrolls the page by as many heights of its frame. */
  onScroll: (pages: number) => void;
}

interface PageBarProps extends PieceListProps {
  shown: ShownPage;
  /** Branch whose version is shown. */
  branch: string;
  /** What the frame shows: this page, one of an entry that is edited in another version, that of another entry at its address, another one, one that sends nothing, or none: it was stopped. */
  state: 'here' | 'behind' | 'other' | 'elsewhere' | 'silent' | 'stopped';
  /** Slug of the entry that the page was built of. */
  builtOf: string;
  /** The entry was saved since the page was opened. */
  isSaved: boolean;
  /** The text is edited beside the page. */
  isBeside: boolean;
}

/** The text of a piece without what marks it up, and of links and pictures what stands for them. */
const plain = (text: string) =>
  text
    .replace(/!?\[([^[\]]*)\]\([^()]*\)/g, '$1')
    .replace(/[#*_`>|[\]\n]/g, ' ')
    .trim()
    .slice(0, 80);

/** Apart, so that it is not rendered with each place that the page sends. */
const PieceList = memo(function PieceList({ list, pieces, opened, onOpen, onScroll }: PieceListProps) {
  const { t } = useTranslation('entry');
  const data = useMemo(() => {
    const kinds = new Map<string, string>();
    const nameOf = (kind: string) => {
      const name = kinds.get(kind) ?? t(`piece_${kind}` as 'piece_field');
      kinds.set(kind, name);
      return name;
    };
    return pieces.map(({ id, kind, text }) => ({ value: String(id), label: `${nameOf(kind)}: ${plain(text) || '–'}` }));
  }, [pieces, t]);
  return (
    <Select
      ref={list}
      size="xs"
      searchable
      // The focus comes here from each piece that is closed, and the page is what one looks at then.
      openOnFocus={false}
      selectFirstOptionOnChange
      // Or else a timer looks for the chosen option of the list that has opened, and one that was marked meanwhile is none.
      selectFirstOptionOnDropdownOpen
      className={classes.list ?? ''}
      aria-label={t('page_pieces')}
      placeholder={t('page_pieces')}
      data={data}
      value={opened === null ? null : String(opened)}
      onChange={(id) => onOpen(id === null ? null : Number(id))}
      onKeyDown={(event) => {
        if (event.key !== 'PageDown' && event.key !== 'PageUp') return;
        event.preventDefault();
        onScroll(event.key === 'PageDown' ? 1 : -1);
      }}
      // Not disabled: the focus stays here while another page takes the place of this one.
      readOnly={pieces.length === 0}
      aria-disabled={pieces.length === 0}
      comboboxProps={{ position: 'bottom-start', width: 420, keepMounted: false }}
    />
  );
});

export function PageBar({ shown, branch, state, builtOf, isSaved, isBeside, ...pieces }: PageBarProps) {
  const { t } = useTranslation(['entry', 'site', 'common']);
  const { organization, project } = usePlace();
  const start = useCommand(StartDeployment);
  const drafts = useDraftPreviews();
  const isManager = useCan(organization, project)('manage_studio');
  const { environment, page, absence, refresh, reload } = shown;
  const latest = environment?.latest_deployment;
  const isBuilding = latest != null && latest.status !== 'completed';
  const isWaiting = isSaved && environment?.auto_deploy === false;
  const failed = latest?.status === 'completed' && latest.conclusion === 'failure' ? latest : null;
  const words = () => {
    if (absence === 'not_deployed' && (isBuilding || failed)) return t(isBuilding ? 'page_first' : 'page_first_failed');
    if (absence !== null) return t(`page_${absence}`);
    if (state !== 'here') return t(`page_${state}`, { slug: builtOf });
    if (page && !page.annotations.is_editable) return t('page_not_editable');
    if (isBuilding) return t('page_building');
    if (failed) return t('page_failed');
    return isWaiting ? t('page_saved') : '';
  };
  const deploy = async () => {
    if (!environment) return;
    await start.run({ organization, project, input: { environment_id: environment.id } });
    refresh();
  };
  return (
    <div className={classes.head}>
      <div className={classes.bar}>
        {absence === null && !isBeside && <PieceList {...pieces} />}
        <Text size="sm" role="status" className={classes.words ?? ''}>
          {words()}
        </Text>
        {(state === 'elsewhere' || state === 'stopped' || absence === 'not_read') && (
          <Button size="compact-sm" variant="default" onClick={reload}>
            {t(state === 'elsewhere' && absence === null ? 'page_back' : 'common:retry')}
          </Button>
        )}
        {absence === 'no_environment' && drafts.canPreview(branch) && (
          <Button
            size="compact-sm"
            variant="default"
            loading={drafts.isRunning}
            onClick={() => void drafts.preview(branch)}
          >
            {t('site:preview_draft')}
          </Button>
        )}
        {isManager && (absence === 'no_address' || (absence === 'no_environment' && !drafts.canPreview(branch))) && (
          <Button
            size="compact-sm"
            variant="default"
            renderRoot={(props) => (
              <Link
                to={absence === 'no_address' ? '/p/$organization/$project/settings' : '/p/$organization/$project/site'}
                params={{ organization, project }}
                {...props}
              />
            )}
          >
            {t(absence === 'no_address' ? 'page_to_settings' : 'page_to_site')}
          </Button>
        )}
        {failed && (
          <Button
            size="compact-sm"
            variant="default"
            renderRoot={(props) => (
              <Link
                to="/p/$organization/$project/site/deployments/$deployment"
                params={{ organization, project, deployment: String(failed.id) }}
                {...props}
              />
            )}
          >
            {t('page_log')}
          </Button>
        )}
        {environment && !isBuilding && (absence === 'not_deployed' || isWaiting) && (
          <Button size="compact-sm" variant="default" loading={start.isRunning} onClick={() => void deploy()}>
            {t('site:deploy')}
          </Button>
        )}
      </div>
      {start.fault && (
        <Text size="sm" c="red" role="alert" px="sm">
          {start.fault.message}
        </Text>
      )}
    </div>
  );
}
