/** What an editor has to know of the entry or file before anything else, above its text and fields. */
import { Button } from '@mantine/core';
import { type ReactNode, useSyncExternalStore } from 'react';
import { useTranslation } from 'react-i18next';
import type { EditedBranchFragment } from '../../documents.ts';
import { useFormats } from '../../lib/format.ts';
import classes from './banners.module.css';
import type { OpenedEditor } from './open-editor.ts';
import type { News } from './use-editor.ts';

interface BannerProps {
  kind: 'plain' | 'warn' | 'bad';
  text: string;
  /** Work cannot simply go on: announced at once. */
  isUrgent?: boolean;
  children?: ReactNode;
}

function Banner({ kind, text, isUrgent = false, children }: BannerProps) {
  return (
    <div className={classes.banner} data-kind={kind} role={isUrgent ? 'alert' : 'status'}>
      <p>{text}</p>
      {children}
    </div>
  );
}

interface Action {
  label: string;
  onClick: () => void;
  isQuiet?: boolean;
}

function BannerButton({ label, onClick, isQuiet = false }: Action) {
  return (
    <Button size="compact-sm" variant={isQuiet ? 'subtle' : 'default'} onClick={onClick}>
      {label}
    </Button>
  );
}

interface BannersProps {
  /** Whose texts it has. */
  kind: 'entry' | 'files';
  opened: OpenedEditor;
  /** null: the draft is gone. */
  branch: EditedBranchFragment | null;
  /** What is edited was deleted. */
  isGone: boolean;
  /** Why an entry's fields cannot be read, while it is edited as a whole file. */
  unreadable: { line: number; column: number; message: string } | null;
  news: News;
  dismissNews: () => void;
  /** What was typed before has been taken up, which is said until it is decided about. */
  isRestoredShown: boolean;
  hideRestored: () => void;
  refresh: () => void;
  takeOver: () => void;
  goToPublished: () => void;
}

export function Banners(props: BannersProps) {
  const { kind, opened, branch, isGone, unreadable, news, dismissNews, isRestoredShown, hideRestored } = props;
  const { editor, restored } = opened;
  const { t } = useTranslation(['entry', 'files', 'common']);
  const formats = useFormats();
  const state = useSyncExternalStore(editor.subscribe, editor.state);
  const restoredAt = opened.at === null ? '' : formats.time(new Date(opened.at).toISOString());
  const discard = async () => {
    hideRestored();
    await editor.discard();
    props.refresh();
  };
  return (
    <>
      {state.isLocked && (
        <Banner kind="warn" text={t(`${kind}:locked`)}>
          <BannerButton label={t('edit_here')} onClick={props.takeOver} />
        </Banner>
      )}
      {state.keeping === 'refused' && <Banner kind="bad" text={t('storage_refused')} isUrgent />}
      {branch === null && (
        <Banner kind="warn" text={t('branch_gone_lead')} isUrgent>
          <BannerButton label={t('go_to_published')} onClick={props.goToPublished} />
        </Banner>
      )}
      {branch !== null && isGone && restored !== 'gone' && <Banner kind="warn" text={t(`${kind}:gone`)} isUrgent />}
      {unreadable && (
        <Banner
          kind="bad"
          isUrgent
          text={t('unreadable', {
            line: unreadable.line,
            column: unreadable.column,
            reason: unreadable.message,
          })}
        />
      )}
      {isRestoredShown && (
        <Banner
          kind={restored === 'behind' ? 'warn' : 'plain'}
          text={
            restored === 'gone'
              ? t(`${kind}:restored_gone`, { time: restoredAt })
              : t(`restored_${restored as 'restored'}`, { time: restoredAt })
          }
        >
          {restored !== 'gone' && <BannerButton label={t('discard')} onClick={discard} />}
          <BannerButton label={t('keep')} onClick={hideRestored} isQuiet />
        </Banner>
      )}
      {news !== 'none' && (
        <Banner kind={news === 'behind' ? 'warn' : 'plain'} text={t(`${kind}:news_${news}`)}>
          <BannerButton label={t('common:close')} onClick={dismissNews} isQuiet />
        </Banner>
      )}
    </>
  );
}
