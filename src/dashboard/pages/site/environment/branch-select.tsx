import { Select } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { usePageQuery } from '../../../lib/page-query.ts';
import { usePlace } from '../../../lib/place.ts';
import { projectQuery } from '../../../shell/project-query.ts';

interface BranchSelectProps {
  /** Null: it is gone. */
  value: string | null;
  onChange: (branch: string) => void;
  error: ReactNode;
}

/** The version that an environment shows. */
export function BranchSelect({ value, onChange, error }: BranchSelectProps) {
  const { t } = useTranslation('environment');
  const studio = usePageQuery(projectQuery(usePlace())).data?.project?.studio;
  const published = studio?.repository?.default_branch;
  const branches = studio?.branches?.nodes ?? [];
  const names = new Set([published, value, ...branches.map(({ name }) => name)].filter((name) => name != null));
  const labelOf = (name: string) => (name === published ? t('published') : name);
  return (
    <Select
      label={t('shows')}
      data={[...names].map((name) => ({ value: name, label: labelOf(name) }))}
      value={value}
      onChange={(name) => name !== null && onChange(name)}
      placeholder={t('branch_gone')}
      error={error}
      searchable
    />
  );
}
