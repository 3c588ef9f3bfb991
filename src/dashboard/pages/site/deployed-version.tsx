import { useTranslation } from 'react-i18next';
import { MarkedText } from '../../parts/marked-text.tsx';

interface DeployedVersionProps {
  deployment: {
    run_number: number;
    title: string;
    commit_sha: string;
    /** Null: it is gone. */
    commit: { author: { name: string } } | null;
  };
}

/** Which version of the content a deployment made, and whose. */
export function DeployedVersion({ deployment }: DeployedVersionProps) {
  const { t } = useTranslation(['site', 'common']);
  const { run_number, title, commit_sha, commit } = deployment;
  return (
    <>
      #{run_number} <MarkedText text={title} />{' '}
      <code title={t('common:commit', { sha: commit_sha })}>{commit_sha.slice(0, 7)}</code>
      {commit && (
        <>
          {' · '}
          <MarkedText text={commit.author.name} />
        </>
      )}
    </>
  );
}
