@echo off
rem try-windows.cmd [PROGRAM ARGUMENTS]: tries loam on a real Windows, in the folder windows/ of a
rem release, and writes what came of it to try-windows.txt: send that. PROGRAM is one of yours on the
rem runtime's DLLs (/MD); without one, programs that every Windows has are run.
setlocal
set here=%~dp0
set said=%CD%\try-windows.txt
ver > "%said%"
echo PROCESSOR %PROCESSOR_ARCHITECTURE% %NUMBER_OF_PROCESSORS% >> "%said%"
if not "%~1"=="" (
  call :try %*
  goto :end
)
rem Of msvcrt.dll and of the UCRT; one that starts another; a status; one of .NET.
call :try "%SystemRoot%\System32\tar.exe" --version
call :try "%SystemRoot%\System32\curl.exe" --version
call :try "%SystemRoot%\System32\findstr.exe" /n windows "%SystemRoot%\win.ini"
call :try "%SystemRoot%\System32\cmd.exe" /c exit 7
call :try "%SystemRoot%\System32\WindowsPowerShell\v1.0\powershell.exe" -NoProfile -Command "1..1000 | Measure-Object -Sum"
call :run --children "%SystemRoot%\System32\cmd.exe" /c "%SystemRoot%\System32\curl.exe" --version
rem By tables, as where code may not be changed.
set LOAM_REDIRECT=tables
call :try "%SystemRoot%\System32\curl.exe" --version
set LOAM_REDIRECT=
set LOAM_OPTIONS=stats=text
call :run "%SystemRoot%\System32\curl.exe" --version
rem Large pages: a line where the user has no right to lock pages in memory.
set LOAM_OPTIONS=stats=text,huge_pages=always
call :run "%SystemRoot%\System32\curl.exe" --version
set LOAM_OPTIONS=stats=text,page_size=1G
call :run "%SystemRoot%\System32\curl.exe" --version
set LOAM_OPTIONS=

:end
echo All is in "%said%".
exit /b 0

rem Without loam, with it, and with what it says of itself: the outputs and the status must be alike.
:try
echo ==== %* >> "%said%"
%* > "%TEMP%\loam-without.txt" 2>&1
echo status without loam: %ERRORLEVEL% >> "%said%"
"%here%loam-run.exe" %* > "%TEMP%\loam-with.txt" 2>&1
echo status with loam: %ERRORLEVEL% >> "%said%"
fc /b "%TEMP%\loam-without.txt" "%TEMP%\loam-with.txt" > nul
if errorlevel 1 (
  echo NOT THE SAME: >> "%said%"
  type "%TEMP%\loam-with.txt" >> "%said%"
) else echo the same output >> "%said%"
call :run --verify %*
exit /b 0

:run
echo ---- loam-run %* >> "%said%"
"%here%loam-run.exe" %* >> "%said%" 2>&1
echo status: %ERRORLEVEL% >> "%said%"
exit /b 0
